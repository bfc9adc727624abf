"""What Airflow 1 and 2 had and provider packages have now: hooks and operators, by old module."""

from collections.abc import Mapping
from typing import Final

from headway.airflow_layer.names.rows import HOOKS, LAYER, moved, of

_FORMER: Final = f"{LAYER}.tolerance.former_operators"

_HOOKS: Final = """
    dbapi_hook: common.sql.hooks.sql
        DbApiHook
    dbapi: common.sql.hooks.sql
        DbApiHook
    postgres_hook: postgres.hooks.postgres
        PostgresHook
    mysql_hook: mysql.hooks.mysql
        MySqlHook
    sqlite_hook: sqlite.hooks.sqlite
        SqliteHook
    mssql_hook: microsoft.mssql.hooks.mssql
        MsSqlHook
    oracle_hook: oracle.hooks.oracle
        OracleHook
    jdbc_hook: jdbc.hooks.jdbc
        JdbcHook
    presto_hook: presto.hooks.presto
        PrestoHook
    hive_hooks: apache.hive.hooks.hive
        HiveCliHook HiveMetastoreHook HiveServer2Hook
    webhdfs_hook: apache.hdfs.hooks.webhdfs
        WebHDFSHook
    http_hook: http.hooks.http
        HttpHook
    S3_hook: amazon.aws.hooks.s3
        S3Hook
    docker_hook: docker.hooks.docker
        DockerHook
    slack_hook: slack.hooks.slack
        SlackHook
    samba_hook: samba.hooks.samba
        SambaHook
"""

_CONTRIB_HOOKS: Final = """
    ssh_hook: ssh.hooks.ssh
        SSHHook
    sftp_hook: sftp.hooks.sftp
        SFTPHook
    ftp_hook: ftp.hooks.ftp
        FTPHook FTPSHook
    aws_hook: amazon.aws.hooks.base_aws
        AwsHook=AwsBaseHook
    emr_hook: amazon.aws.hooks.emr
        EmrHook
    aws_athena_hook: amazon.aws.hooks.athena
        AWSAthenaHook=AthenaHook
    aws_lambda_hook: amazon.aws.hooks.lambda_function
        AwsLambdaHook=LambdaHook
    bigquery_hook: google.cloud.hooks.bigquery
        BigQueryHook
    gcs_hook: google.cloud.hooks.gcs
        GoogleCloudStorageHook=GCSHook
    snowflake_hook: snowflake.hooks.snowflake
        SnowflakeHook
    databricks_hook: databricks.hooks.databricks
        DatabricksHook
    mongo_hook: mongo.hooks.mongo
        MongoHook
    redis_hook: redis.hooks.redis
        RedisHook
    slack_webhook_hook: slack.hooks.slack_webhook
        SlackWebhookHook
    wasb_hook: microsoft.azure.hooks.wasb
        WasbHook
"""

_OPERATORS: Final = """
    sql: common.sql.operators.sql
        BranchSQLOperator
        SQLCheckOperator
        SQLIntervalCheckOperator
        SQLThresholdCheckOperator
        SQLValueCheckOperator
    check_operator: common.sql.operators.sql
        CheckOperator=SQLCheckOperator
        ValueCheckOperator=SQLValueCheckOperator
        IntervalCheckOperator=SQLIntervalCheckOperator
    generic_transfer: common.sql.operators.generic_transfer
        GenericTransfer
    http_operator: http.operators.http
        SimpleHttpOperator=HttpOperator
    hive_operator: apache.hive.operators.hive
        HiveOperator
    hive_to_mysql: apache.hive.transfers.hive_to_mysql
        HiveToMySqlOperator HiveToMySqlTransfer=HiveToMySqlOperator
    docker_operator: docker.operators.docker
        DockerOperator
    slack_operator: slack.operators.slack
        SlackAPIOperator SlackAPIPostOperator
    s3_file_transform_operator: amazon.aws.operators.s3
        S3FileTransformOperator
    redshift_to_s3_operator: amazon.aws.transfers.redshift_to_s3
        RedshiftToS3Operator RedshiftToS3Transfer=RedshiftToS3Operator
    s3_to_redshift_operator: amazon.aws.transfers.s3_to_redshift
        S3ToRedshiftOperator S3ToRedshiftTransfer=S3ToRedshiftOperator
    papermill_operator: papermill.operators.papermill
        PapermillOperator
"""

_CONTRIB_OPERATORS: Final = """
    ssh_operator: ssh.operators.ssh
        SSHOperator
    sftp_operator: sftp.operators.sftp
        SFTPOperator
    emr_create_job_flow_operator: amazon.aws.operators.emr
        EmrCreateJobFlowOperator
    emr_add_steps_operator: amazon.aws.operators.emr
        EmrAddStepsOperator
    emr_terminate_job_flow_operator: amazon.aws.operators.emr
        EmrTerminateJobFlowOperator
    aws_athena_operator: amazon.aws.operators.athena
        AWSAthenaOperator=AthenaOperator
    ecs_operator: amazon.aws.operators.ecs
        ECSOperator=EcsRunTaskOperator
    bigquery_get_data: google.cloud.operators.bigquery
        BigQueryGetDataOperator
    bigquery_check_operator: google.cloud.operators.bigquery
        BigQueryCheckOperator BigQueryValueCheckOperator
    gcs_to_bq: google.cloud.transfers.gcs_to_bigquery
        GoogleCloudStorageToBigQueryOperator=GCSToBigQueryOperator
    bigquery_to_gcs: google.cloud.transfers.bigquery_to_gcs
        BigQueryToCloudStorageOperator=BigQueryToGCSOperator
    databricks_operator: databricks.operators.databricks
        DatabricksRunNowOperator DatabricksSubmitRunOperator
    kubernetes_pod_operator: cncf.kubernetes.operators.pod
        KubernetesPodOperator
    slack_webhook_operator: slack.operators.slack_webhook
        SlackWebhookOperator
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


_OLD_HOOKS: Final = moved("airflow.hooks", _HOOKS)

MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    **_OLD_HOOKS,
    "airflow.hooks": {
        **HOOKS,
        **{name: home for names in _OLD_HOOKS.values() for name, home in names.items()},
    },
    **moved("airflow.contrib.hooks", _CONTRIB_HOOKS),
    **moved("airflow.operators", _OPERATORS),
    **moved("airflow.contrib.operators", _CONTRIB_OPERATORS),
    **moved("airflow.providers", _PROVIDERS),
    **_former(),
}

OF_PROVIDERS: Final = frozenset(
    module for module in MODULES if module.startswith("airflow.providers.")
)
"""Modules that older releases of provider packages have, and that are taken from there."""
