"""`airflow`, `airflow.sdk`, `airflow.models` and `airflow.decorators`: what makes DAGs."""

from collections.abc import Mapping
from typing import Final

from headway.airflow_layer.names.rows import (
    CONNECTIONS,
    DAGS,
    DATABASE,
    DECORATORS,
    HOOKS,
    LAYER,
    OPERATORS,
    RETURN_KEY,
    SDK,
    SKIPS,
    VARIABLES,
    modules,
    of,
)
from headway.airflow_layer.names.sensors import BASES

_VERSION: Final = of(f"{LAYER}.counterparts.version", "__version__=VERSION")
_DAG: Final = of(DAGS, "DAG dag")
_DECORATORS: Final = {
    **of(DAGS, "dag"),
    **of(DECORATORS, "task setup teardown"),
    **of(SDK, "task_group"),
}
_DEPENDENCIES: Final = of(SDK, "chain chain_linear cross_downstream")
_GROUPS: Final = of(SDK, "TaskGroup")
_LABELS: Final = {**of(SDK, "Label"), **of(SDK, "EdgeModifier=Label")}
_PARAMS: Final = {**of(SDK, "Param"), **of("headway.sdk.values.params", "ParamsDict")}
_OPERATOR: Final = of(OPERATORS, "BaseOperator BaseBranchOperator")
_OPERATOR_LINK: Final = of(f"{LAYER}.counterparts.stand_ins", "BaseOperatorLink")
_XCOM_ARG: Final = of(SDK, "XComArg")
_CONTEXT: Final = of(SDK, "Context get_current_context")
_PATHS: Final = of(SDK, "ObjectStoragePath")
_STORES: Final = of("headway.sdk.storage.stores", "attach get_fs has_fs Properties ObjectStore")
_STATES: Final = of(f"{LAYER}.counterparts.states", "DagRunState TaskInstanceState")
_NOTIFIER: Final = of(f"{LAYER}.counterparts.notifiers", "BaseNotifier")
_DEADLINES: Final = of(SDK, "DeadlineAlert DeadlineReference")
_RETRIES: Final = of(SDK, "ExceptionRetryPolicy RetryAction RetryDecision RetryPolicy RetryRule")
_RULES: Final = of(SDK, "TriggerRule WeightRule")
_TIMETABLES: Final = of(
    f"{LAYER}.counterparts.timetables",
    "CronTriggerTimetable CronDataIntervalTimetable DeltaDataIntervalTimetable EventsTimetable "
    "MultipleCronTriggerTimetable",
)
_RUN: Final = of(f"{LAYER}.counterparts.stand_ins", "DagRun")
_INSTANCE: Final = of(f"{LAYER}.counterparts.stand_ins", "TaskInstance")

_SDK: Final = {
    **_VERSION,
    **_DAG,
    **_DECORATORS,
    **_DEPENDENCIES,
    **_GROUPS,
    **_LABELS,
    **_PARAMS,
    **_OPERATOR,
    **_OPERATOR_LINK,
    **_XCOM_ARG,
    **VARIABLES,
    **CONNECTIONS,
    **HOOKS,
    **_CONTEXT,
    **_PATHS,
    **_STATES,
    **_NOTIFIER,
    **_DEADLINES,
    **_RULES,
    **_RETRIES,
    **_TIMETABLES,
    **_INSTANCE,
    **BASES,
    **RETURN_KEY,
    **SKIPS,
    **of(SDK, "NEVER_EXPIRE literal"),
    **of(f"{LAYER}.counterparts.configuration", "conf"),
    **of(f"{LAYER}.counterparts.calls", "get_parsing_context"),
}

MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    "airflow": {**_VERSION, **of(DAGS, "DAG"), **_XCOM_ARG},
    "airflow.version": of(f"{LAYER}.counterparts.version", "version=VERSION"),
    "airflow.sdk": _SDK,
    **modules("airflow.decorators airflow.decorators.base", _DECORATORS),
    "airflow.decorators.task_group": of(SDK, "task_group"),
    "airflow.decorators.python": of(DECORATORS, "python_task=task"),
    "airflow.models": {
        **of(DAGS, "DAG"),
        **_OPERATOR,
        **_OPERATOR_LINK,
        **VARIABLES,
        **CONNECTIONS,
        **_XCOM_ARG,
        **_PARAMS,
        **_RUN,
        **_INSTANCE,
        **RETURN_KEY,
        **SKIPS,
        **of(DATABASE, "DagBag DagModel DagTag Log Pool SlaMiss TaskFail TaskReschedule XCom"),
    },
    "airflow.models.dag": {**_DAG, **of(DATABASE, "DagModel DagTag")},
    "airflow.sdk.definitions.dag": _DAG,
    "airflow.models.dagbag": of(DATABASE, "DagBag"),
    "airflow.models.log": of(DATABASE, "Log"),
    "airflow.models.pool": of(DATABASE, "Pool"),
    "airflow.models.slamiss": of(DATABASE, "SlaMiss"),
    "airflow.models.taskfail": of(DATABASE, "TaskFail"),
    "airflow.models.taskreschedule": of(DATABASE, "TaskReschedule"),
    "airflow.models.xcom": {**RETURN_KEY, **of(DATABASE, "XCom")},
    **modules("airflow.sdk.execution_time.xcom airflow.utils.xcom", RETURN_KEY),
    **modules("airflow.sdk.bases.skipmixin airflow.models.skipmixin", SKIPS),
    "airflow.models.baseoperator": {**_OPERATOR, **_DEPENDENCIES, **_OPERATOR_LINK},
    "airflow.models.operator": of(OPERATORS, "Operator=BaseOperator BaseOperator"),
    "airflow.models.abstractoperator": of(OPERATORS, "AbstractOperator=BaseOperator"),
    "airflow.models.baseoperatorlink": _OPERATOR_LINK,
    **modules("airflow.sdk.definitions.template airflow.utils.template", of(SDK, "literal")),
    **modules("airflow.models.param airflow.sdk.definitions.param", _PARAMS),
    **modules("airflow.models.variable airflow.sdk.definitions.variable", VARIABLES),
    **modules("airflow.models.connection airflow.sdk.definitions.connection", CONNECTIONS),
    **modules("airflow.models.xcom_arg airflow.sdk.definitions.xcom_arg", _XCOM_ARG),
    "airflow.models.dagrun": _RUN,
    "airflow.models.taskinstance": {**_INSTANCE, **_CONTEXT},
    "airflow.sdk.bases.operator": {**_OPERATOR, **_DEPENDENCIES},
    "airflow.sdk.bases.branch": _OPERATOR,
    "airflow.sdk.bases.operatorlink": _OPERATOR_LINK,
    "airflow.sdk.bases.hook": HOOKS,
    "airflow.sdk.bases.notifier": _NOTIFIER,
    "airflow.notifications.basenotifier": _NOTIFIER,
    "airflow.sdk.definitions.context": _CONTEXT,
    "airflow.sdk.definitions.deadline": _DEADLINES,
    "airflow.sdk.definitions.edges": _LABELS,
    "airflow.sdk.definitions.retry_policy": _RETRIES,
    "airflow.sdk.definitions.taskgroup": _GROUPS,
    "airflow.sdk.definitions.decorators": _DECORATORS,
    "airflow.sdk.execution_time.context": {
        **of(SDK, "NEVER_EXPIRE"),
        **of("headway.sdk.context.state_store", "TaskStateStoreAccessor=TaskStateStore"),
        **of(f"{LAYER}.counterparts.calls", "context_to_airflow_vars"),
    },
    "airflow.sdk.execution_time.task_runner": of(
        f"{LAYER}.counterparts.stand_ins", "RuntimeTaskInstance=TaskInstance"
    ),
    "airflow.sdk.types": of(
        f"{LAYER}.counterparts.stand_ins",
        "RuntimeTaskInstanceProtocol=TaskInstance DagRunProtocol=DagRun",
    ),
    "airflow.sdk.configuration": of(f"{LAYER}.counterparts.configuration", "conf"),
    **modules("airflow.sdk.io airflow.io", {**_PATHS, **_STORES}),
    **modules("airflow.io.path airflow.sdk.io.path", _PATHS),
    **modules(
        "airflow.sdk.io.fs airflow.sdk.io.store airflow.sdk.io.typedef airflow.io.store "
        "airflow.io.storage airflow.io.typedef",
        _STORES,
    ),
    **modules(
        "airflow.sdk.io.stat airflow.io.utils.stat",
        of("headway.sdk.storage.stats", "stat_result=ObjectStat"),
    ),
    "airflow.timetables.trigger": of(
        f"{LAYER}.counterparts.timetables",
        "CronTriggerTimetable MultipleCronTriggerTimetable",
    ),
    "airflow.timetables.interval": of(
        f"{LAYER}.counterparts.timetables", "CronDataIntervalTimetable DeltaDataIntervalTimetable"
    ),
    "airflow.timetables.events": of(f"{LAYER}.counterparts.timetables", "EventsTimetable"),
    "airflow.timetables.simple": of(SDK, "NullTimetable OnceTimetable ContinuousTimetable"),
    "airflow.timetables.base": {
        **of("headway.domain.interval", "DataInterval"),
        **of("headway.timetables.base", "DagRunInfo TimeRestriction"),
    },
}
