"""What Airflow 1 and 2 had and provider packages have now: hooks and operators, by old module."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headway.airflow_layer.names.rows import HOOKS, LAYER, moved, of

_FORMER: Final = f"{LAYER}.tolerance.former_operators"
_FORMER_KUBERNETES: Final = f"{LAYER}.tolerance.former_kubernetes"
_CNCF: Final = "airflow.providers.cncf.kubernetes"
_FILE: Final = Path(__file__).with_name("moved_classes.txt")

_HOOKS: Final = """
    dbapi: common.sql.hooks.sql
        DbApiHook
"""

_OPERATORS: Final = """
    generic_transfer: common.sql.operators.generic_transfer
        GenericTransfer
    http_operator: http.operators.http
        SimpleHttpOperator=HttpOperator
    s3_file_transform_operator: amazon.aws.operators.s3
        S3FileTransformOperator
"""

_CONTRIB_OPERATORS: Final = """
    emr_create_job_flow_operator: amazon.aws.operators.emr
        EmrCreateJobFlowOperator
    emr_add_steps_operator: amazon.aws.operators.emr
        EmrAddStepsOperator
    emr_terminate_job_flow_operator: amazon.aws.operators.emr
        EmrTerminateJobFlowOperator
    ecs_operator: amazon.aws.operators.ecs
        ECSOperator=EcsRunTaskOperator
    s3_copy_object_operator: amazon.aws.operators.s3
        S3CopyObjectOperator
    s3_delete_objects_operator: amazon.aws.operators.s3
        S3DeleteObjectsOperator
    s3_list_operator: amazon.aws.operators.s3
        S3ListOperator
    sagemaker_base_operator: amazon.aws.operators.sagemaker
        SageMakerBaseOperator
    sagemaker_endpoint_config_operator: amazon.aws.operators.sagemaker
        SageMakerEndpointConfigOperator
    sagemaker_endpoint_operator: amazon.aws.operators.sagemaker
        SageMakerEndpointOperator
    sagemaker_model_operator: amazon.aws.operators.sagemaker
        SageMakerModelOperator
    sagemaker_training_operator: amazon.aws.operators.sagemaker
        SageMakerTrainingOperator
    sagemaker_transform_operator: amazon.aws.operators.sagemaker
        SageMakerTransformOperator
    sagemaker_tuning_operator: amazon.aws.operators.sagemaker
        SageMakerTuningOperator
"""

_CONTRIB_SENSORS: Final = """
    emr_base_sensor: amazon.aws.sensors.emr
        EmrBaseSensor
    emr_job_flow_sensor: amazon.aws.sensors.emr
        EmrJobFlowSensor
    emr_step_sensor: amazon.aws.sensors.emr
        EmrStepSensor
    sagemaker_base_sensor: amazon.aws.sensors.sagemaker
        SageMakerBaseSensor
    sagemaker_endpoint_sensor: amazon.aws.sensors.sagemaker
        SageMakerEndpointSensor
    sagemaker_transform_sensor: amazon.aws.sensors.sagemaker
        SageMakerTransformSensor
    sagemaker_tuning_sensor: amazon.aws.sensors.sagemaker
        SageMakerTuningSensor
"""

_PARTS_OF_PODS: Final = """
    volume                Volume
    volume_mount          VolumeMount
    pod                   Port Resources
    pod_runtime_info_env  PodRuntimeInfoEnv
"""

_PROVIDERS: Final = """
    amazon.aws.operators.aws_lambda: amazon.aws.operators.lambda_function
        AwsLambdaInvokeFunctionOperator=LambdaInvokeFunctionOperator
    cncf.kubernetes.operators.kubernetes_pod: cncf.kubernetes.operators.pod
        KubernetesPodOperator
    google.cloud.hooks.datapipeline: google.cloud.hooks.dataflow
        DataPipelineHook=DataflowHook
    google.cloud.operators.datapipeline: google.cloud.operators.dataflow
        CreateDataPipelineOperator=DataflowCreatePipelineOperator
        RunDataPipelineOperator=DataflowRunPipelineOperator
    microsoft.azure.transfers.azure_blob_to_gcs: google.cloud.transfers.azure_blob_to_gcs
        AzureBlobStorageToGCSOperator
    snowflake.hooks.snowflake_sql_api: snowflake.hooks.sql_api
        SnowflakeSqlApiHook
"""
"""Modules that provider packages had, and that are others by now."""

_FORMER_OPERATORS: Final = """
    airflow.operators.postgres_operator              PostgresOperator
    airflow.providers.postgres.operators.postgres    PostgresOperator
    airflow.operators.mysql_operator                 MySqlOperator
    airflow.providers.mysql.operators.mysql          MySqlOperator
    airflow.operators.sqlite_operator                SqliteOperator
    airflow.providers.sqlite.operators.sqlite        SqliteOperator
    airflow.operators.mssql_operator                 MsSqlOperator
    airflow.providers.microsoft.mssql.operators.mssql  MsSqlOperator
    airflow.operators.jdbc_operator                  JdbcOperator
    airflow.providers.jdbc.operators.jdbc            JdbcOperator
    airflow.contrib.operators.snowflake_operator     SnowflakeOperator
"""
"""Operators that provider packages had, until SQLExecuteQueryOperator took their place."""


def _former() -> dict[str, dict[str, str]]:
    lines = (line.split() for line in _FORMER_OPERATORS.strip().splitlines())
    return {module: of(_FORMER, name) for module, name in lines}


def _parts_of_pods() -> dict[str, dict[str, str]]:
    lines = [line.split() for line in _PARTS_OF_PODS.strip().splitlines()]
    return {
        f"{folder}.{module}": of(_FORMER_KUBERNETES, " ".join(names))
        for folder in ("airflow.kubernetes", "airflow.contrib.kubernetes", f"{_CNCF}.backcompat")
        for module, *names in lines
    }


def _classes() -> dict[str, dict[str, str]]:
    """Return the rows of the file."""
    found: dict[str, dict[str, str]] = {}
    for line in _FILE.read_text().splitlines():
        if not line.startswith("#"):
            module, name, target = line.split()
            home, _, new = target.rpartition(".")
            found.setdefault(f"airflow.{module}", {})[name] = f"airflow.providers.{home}:{new}"
    return found


_CLASSES: Final = _classes()
_OLD_HOOKS: Final = {
    **{module: names for module, names in _CLASSES.items() if module.startswith("airflow.hooks.")},
    **moved("airflow.hooks", _HOOKS),
}

MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    **_CLASSES,
    **_OLD_HOOKS,
    "airflow.hooks": {
        **{name: home for names in _OLD_HOOKS.values() for name, home in names.items()},
        **HOOKS,
    },
    **moved("airflow.operators", _OPERATORS),
    **moved("airflow.contrib.operators", _CONTRIB_OPERATORS),
    **moved("airflow.contrib.sensors", _CONTRIB_SENSORS),
    **moved("airflow.providers", _PROVIDERS),
    "airflow.contrib.kubernetes.secret": _CLASSES["airflow.kubernetes.secret"],
    **_parts_of_pods(),
    **_former(),
}

OF_PROVIDERS: Final = frozenset(
    module for module in MODULES if module.startswith("airflow.providers.")
)
"""Modules that older releases of provider packages have, and that are taken from there."""
