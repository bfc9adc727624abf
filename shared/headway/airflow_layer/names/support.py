"""`airflow.utils`, exceptions, configuration, hooks and macros: what DAG files use besides."""

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
    SDK,
    VARIABLES,
    modules,
    of,
)

_PARTS: Final = f"{LAYER}.counterparts"
_EXCEPTIONS: Final = of(
    f"{_PARTS}.exceptions",
    "AirflowException AirflowSkipException AirflowFailException AirflowNotFoundException "
    "AirflowTaskTimeout AirflowTaskTerminated AirflowSensorTimeout AirflowConfigException "
    "AirflowBadRequest AirflowDagCycleException AirflowClusterPolicyViolation "
    "AirflowProviderDeprecationWarning AirflowOptionalProviderFeatureException "
    "AirflowInternalRuntimeError AirflowRuntimeError AirflowTimetableInvalid DagNotFound "
    "DagRunAlreadyExists DagRunNotFound DuplicateTaskIdFound ParamValidationError "
    "RemovedInAirflow3Warning RemovedInAirflow4Warning "
    "TaskInstanceNotFound TaskNotFound XComNotFound",
)
_TIMES: Final = of(
    f"{_PARTS}.times",
    "utc utcnow datetime parse make_aware make_naive is_localized is_naive convert_to_utc "
    "coerce_datetime from_timestamp td_format",
)
_HELPERS: Final = {
    **of(
        f"{_PARTS}.values",
        "prune_dict exactly_one at_most_one merge_dicts chunks is_container convert_camel_to_snake "
        "validate_key as_flattened_list",
    ),
    **of(SDK, "chain cross_downstream"),
}
_LOGGING: Final = of(f"{_PARTS}.calls", "LoggingMixin")
_IMPORTS: Final = of(f"{_PARTS}.calls", "import_string iter_namespace qualname")
_NOTSET: Final = of(f"{_PARTS}.sentinels", "NOTSET ArgNotSet")
_WEEKDAY: Final = of(SDK, "WeekDay")
_STATES: Final = of(f"{_PARTS}.states", "State DagRunState TaskInstanceState")
_TIMEZONE: Final = of(f"{_PARTS}.times", "timezone=TIMEZONE")
_CONF: Final = of(f"{_PARTS}.configuration", "conf")

MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    **modules("airflow.exceptions airflow.sdk.exceptions", _EXCEPTIONS),
    "airflow.configuration": {
        **_CONF,
        **of(f"{_PARTS}.configuration", "AIRFLOW_HOME get getboolean getint getfloat"),
        **of(f"{_PARTS}.exceptions", "AirflowConfigException"),
    },
    "airflow.settings": {
        **of(f"{_PARTS}.configuration", "AIRFLOW_HOME DAGS_FOLDER TIMEZONE"),
        **of(DATABASE, "Session engine"),
    },
    "airflow.utils.session": of(DATABASE, "NEW_SESSION create_session provide_session"),
    "airflow.utils.db": of(DATABASE, "create_session provide_session"),
    "airflow.jobs.job": of(DATABASE, "Job"),
    "airflow.jobs.base_job": of(DATABASE, "BaseJob"),
    **modules(
        "airflow.api.common.trigger_dag airflow.api.common.experimental.trigger_dag",
        of(DATABASE, "trigger_dag"),
    ),
    **modules(
        "airflow.api.common.delete_dag airflow.api.common.experimental.delete_dag",
        of(DATABASE, "delete_dag"),
    ),
    **modules("airflow.hooks.base airflow.hooks.base_hook", HOOKS),
    **modules(
        "airflow.hooks.filesystem airflow.providers.standard.hooks.filesystem "
        "airflow.contrib.hooks.fs_hook",
        of(f"{_PARTS}.hooks", "FSHook"),
    ),
    **modules(
        "airflow.hooks.subprocess airflow.providers.standard.hooks.subprocess",
        of(f"{_PARTS}.processes", "SubprocessHook SubprocessResult"),
    ),
    **modules(
        "airflow.macros airflow.sdk.macros",
        of("headway.sdk.context.macros", "datetime timedelta ds_add ds_format"),
    ),
    "airflow.utils.dates": of(
        f"{_PARTS}.times", "days_ago cron_presets datetime timedelta parse_execution_date=parse"
    ),
    "airflow.security.permissions": of(
        f"{LAYER}.tolerance.permissions",
        "ACTION_CAN_READ ACTION_CAN_EDIT ACTION_CAN_CREATE ACTION_CAN_DELETE "
        "ACTION_CAN_ACCESS_MENU RESOURCE_DAG RESOURCE_DAG_RUN",
    ),
    **modules(
        "airflow.sdk.log airflow.sdk.execution_time.secrets_masker "
        "airflow.utils.log.secrets_masker",
        of(f"{_PARTS}.masking", "mask_secret"),
    ),
    **modules("airflow.utils.timezone airflow.sdk.timezone", _TIMES),
    **modules("airflow.utils.trigger_rule airflow.task.trigger_rule", of(SDK, "TriggerRule")),
    **modules("airflow.utils.weight_rule airflow.task.weight_rule", of(SDK, "WeightRule")),
    "airflow.utils.state": _STATES,
    "airflow.utils.task_group": of(SDK, "TaskGroup"),
    "airflow.utils.edgemodifier": of(SDK, "Label EdgeModifier=Label"),
    "airflow.utils.helpers": _HELPERS,
    "airflow.utils.decorators": of(f"{_PARTS}.calls", "apply_defaults"),
    **modules("airflow.utils.module_loading airflow.sdk.module_loading", _IMPORTS),
    **modules(
        "airflow.utils.log.logging_mixin airflow.sdk.definitions._internal.logging_mixin", _LOGGING
    ),
    "airflow.example_dags.libs.helper": of(f"{_PARTS}.calls", "print_stuff"),
    "airflow.utils.strings": of(f"{_PARTS}.values", "to_boolean"),
    "airflow.utils.platform": of(f"{_PARTS}.calls", "getuser"),
    "airflow.utils.email": of(
        f"{LAYER}.tolerance.mail",
        "send_email send_email_smtp build_mime_message get_email_address_list",
    ),
    "airflow.utils.context": of(SDK, "Context"),
    "airflow.utils.operator_helpers": of(
        f"{_PARTS}.calls", "determine_kwargs context_to_airflow_vars"
    ),
    "airflow.utils.types": {**_NOTSET, **of("headway.domain.states", "DagRunType=RunType")},
    "airflow.sdk.definitions._internal.types": _NOTSET,
    **modules(
        "airflow.utils.weekday airflow.contrib.utils.weekday "
        "airflow.providers.standard.utils.weekday",
        _WEEKDAY,
    ),
    "airflow.utils.dag_parsing_context": of(f"{_PARTS}.calls", "get_parsing_context"),
    "airflow.compat.functools": of("functools", "cached_property cache"),
    "airflow.typing_compat": of("typing", "Literal Protocol TypedDict TypeGuard Self Unpack"),
    "airflow.providers.common.compat.sdk": {
        **_EXCEPTIONS,
        **_STATES,
        **HOOKS,
        **CONNECTIONS,
        **VARIABLES,
        **_CONF,
        **_TIMEZONE,
        **_NOTSET,
        **_LOGGING,
        **of(DAGS, "DAG dag"),
        **of(DECORATORS, "task"),
        **of(OPERATORS, "BaseOperator"),
        **of(f"{_PARTS}.stand_ins", "BaseOperatorLink DagRun TaskInstance"),
        **of(f"{_PARTS}.notifiers", "BaseNotifier"),
        **of(
            SDK,
            "chain cross_downstream task_group Context Label Param TaskGroup "
            "TriggerRule WeightRule XComArg get_current_context ObjectStoragePath",
        ),
    },
}
