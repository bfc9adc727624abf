"""The Amazon provider against moto's server."""

from tests.providers.conftest import RunDag

SOURCE = """
import pendulum
from airflow import DAG
from airflow.operators.python import PythonOperator
from airflow.providers.amazon.aws.hooks.s3 import S3Hook
from airflow.providers.amazon.aws.operators.s3 import (
    S3CopyObjectOperator, S3CreateBucketOperator, S3CreateObjectOperator, S3ListOperator
)

def read(keys):
    hook = S3Hook("aws")
    print("read:", keys, hook.read_key("copy/2024-01-05.txt", "shop"))

with DAG(
    "d", start_date=pendulum.datetime(2024, 1, 1, tz="UTC"), schedule=None,
    default_args={"aws_conn_id": "aws"},
):
    found = S3ListOperator(task_id="list", bucket="shop")
    (
        S3CreateBucketOperator(task_id="bucket", bucket_name="shop")
        >> S3CreateObjectOperator(
            task_id="put", s3_bucket="shop", s3_key="{{ ds }}.txt", data="sales of {{ ds }}"
        )
        >> S3CopyObjectOperator(
            task_id="copy",
            source_bucket_key="s3://shop/{{ ds }}.txt",
            dest_bucket_key="s3://shop/copy/{{ ds }}.txt",
        )
        >> found
        >> PythonOperator(task_id="read", python_callable=read, op_args=[found.output])
    )
"""


def test_objects_are_written_copied_listed_and_read(run_dag: RunDag, endpoint: str) -> None:
    extra = {"endpoint_url": endpoint, "region_name": "us-east-1"}
    aws = {"conn_type": "aws", "login": "someone", "password": "whatever-it-is", "extra": extra}

    said = run_dag(SOURCE, aws=aws)

    assert "read: ['2024-01-05.txt', 'copy/2024-01-05.txt'] sales of 2024-01-05" in said
