"""Names that only the modules of provider packages are given.

A DAG file that imports them itself is told what to write instead.
"""

from collections.abc import Mapping
from typing import Final

from headway.airflow_layer.names.rows import LAYER, modules, of

_BASES: Final = f"{LAYER}.counterparts.provider_bases"
_TRIGGERS: Final = of(
    _BASES, "BaseTrigger=LayerTrigger BaseEventTrigger TriggerEvent StartTriggerArgs"
)
_XCOM: Final = of(_BASES, "XCom")
_DEFERRED: Final = of(_BASES, "TaskDeferred")
_ASYNC: Final = of(f"{LAYER}.tolerance.async_operators", "BaseAsyncOperator")
_EXCEPTIONS: Final = f"{LAYER}.counterparts.exceptions"

_INSTANCES: Final = {
    **of("headway.sdk.context.task_instance", "TaskInstanceKey"),
    **of(_BASES, "clear_task_instances"),
}
_LINEAGE: Final = of(f"{LAYER}.counterparts.lineage", "get_hook_lineage_collector")
_PROCESSES: Final = f"{LAYER}.counterparts.processes"
_MANAGER: Final = f"{LAYER}.counterparts.installed_providers"

MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    "airflow.sdk": _XCOM,
    **modules("airflow.triggers.base airflow.sdk.bases.trigger", _TRIGGERS),
    **modules("airflow.exceptions airflow.sdk.exceptions", _DEFERRED),
    **modules("airflow.models.xcom airflow.sdk.execution_time.xcom airflow.utils.xcom", _XCOM),
    "airflow.models": _XCOM,
    **modules("airflow.sdk.lineage airflow.lineage.hook", _LINEAGE),
    "airflow.utils.process_utils": of(_PROCESSES, "patch_environ"),
    **modules(
        "airflow.sdk.execution_time.timeout airflow.utils.timeout", of(_PROCESSES, "timeout")
    ),
    "airflow.utils.yaml": of("yaml", "safe_load safe_dump dump load YAMLError"),
    "airflow.utils.hashlib_wrapper": of(f"{LAYER}.counterparts.values", "md5"),
    "airflow.plugins_manager": of(_BASES, "AirflowPlugin"),
    "airflow.settings": of(_BASES, "pod_mutation_hook"),
    "airflow.utils.deprecation_tools": of(_BASES, "add_deprecated_classes"),
    "airflow.sdk.bases.decorator": of(_BASES, "is_async_callable"),
    "airflow.sdk.bases.operator": _ASYNC,
    "airflow.providers.standard.exceptions": of(
        _EXCEPTIONS,
        "DuplicateStateError ExternalDagDeletedError ExternalDagFailedError "
        "ExternalDagNotFoundError ExternalTaskFailedError ExternalTaskGroupFailedError "
        "ExternalTaskGroupNotFoundError ExternalTaskNotFoundError",
    ),
    "airflow.security.utils": of(_BASES, "get_components replace_hostname_pattern"),
    "airflow.security.kerberos": of(_BASES, "renew_from_kt"),
    **modules("airflow.models.taskinstance airflow.models.taskinstancekey", _INSTANCES),
    "airflow.providers_manager": of(_MANAGER, "ProvidersManager"),
    "airflow.sdk.providers_manager_runtime": of(
        _MANAGER, "ProvidersManagerTaskRuntime=ProvidersManager"
    ),
}
