"""Classes that modules of provider packages had, and the present ones with the same arguments."""

from collections.abc import Mapping
from typing import Final

from headway.airflow_layer.names.rows import LAYER, moved, of

_CLASSES: Final = """
    amazon.aws.hooks.athena: amazon.aws.hooks.athena
        AWSAthenaHook=AthenaHook
    amazon.aws.hooks.glue: amazon.aws.hooks.glue
        AwsGlueJobHook=GlueJobHook
    amazon.aws.hooks.glue_crawler: amazon.aws.hooks.glue_crawler
        AwsGlueCrawlerHook=GlueCrawlerHook
    amazon.aws.hooks.lambda_function: amazon.aws.hooks.lambda_function
        AwsLambdaHook=LambdaHook
    amazon.aws.hooks.sns: amazon.aws.hooks.sns
        AwsSnsHook=SnsHook
    amazon.aws.hooks.sqs: amazon.aws.hooks.sqs
        SQSHook=SqsHook
    amazon.aws.operators.athena: amazon.aws.operators.athena
        AWSAthenaOperator=AthenaOperator
    amazon.aws.operators.batch: amazon.aws.operators.batch
        AwsBatchOperator=BatchOperator
    amazon.aws.operators.ecs: amazon.aws.operators.ecs
        EcsOperator=EcsRunTaskOperator ECSOperator=EcsRunTaskOperator
    amazon.aws.operators.glue: amazon.aws.operators.glue
        AwsGlueJobOperator=GlueJobOperator
    amazon.aws.operators.glue_crawler: amazon.aws.operators.glue_crawler
        AwsGlueCrawlerOperator=GlueCrawlerOperator
    amazon.aws.operators.lambda_function: amazon.aws.operators.lambda_function
        AwsLambdaInvokeFunctionOperator=LambdaInvokeFunctionOperator
    amazon.aws.operators.sqs: amazon.aws.operators.sqs
        SQSPublishOperator=SqsPublishOperator
    google.cloud.hooks.kubernetes_engine: google.cloud.hooks.kubernetes_engine
        GKECustomResourceHook=GKEKubernetesHook
        GKEDeploymentHook=GKEKubernetesHook
        GKEJobHook=GKEKubernetesHook
        GKEPodHook=GKEKubernetesHook
    http.operators.http: http.operators.http
        SimpleHttpOperator=HttpOperator
    microsoft.azure.transfers.local_to_adls: microsoft.azure.transfers.local_to_adls
        LocalToAzureDataLakeStorageOperator=LocalFilesystemToADLSOperator
"""

MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    **moved("airflow.providers", _CLASSES),
    "airflow.providers.snowflake.operators.snowflake": of(
        f"{LAYER}.tolerance.former_operators", "SnowflakeOperator"
    ),
}
"""They are given where the module is installed and has no such class."""
