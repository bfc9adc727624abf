"""Modules of provider packages that no test runs: they load, and make tasks."""

from tests.providers.conftest import RunDag

SOURCE = """
import pendulum
from airflow import DAG
from airflow.contrib.operators.ecs_operator import ECSOperator
from airflow.contrib.operators.kubernetes_pod_operator import KubernetesPodOperator
from airflow.contrib.operators.snowflake_operator import SnowflakeOperator
from airflow.contrib.sensors.emr_step_sensor import EmrStepSensor
from airflow.kubernetes.pod_generator import PodGenerator
from airflow.operators.empty import EmptyOperator
from airflow.providers.amazon.aws.hooks.ses import SesHook
from airflow.providers.amazon.aws.operators.appflow import AppflowRecordsShortCircuitOperator
from airflow.providers.amazon.aws.operators.ses import SesEmailOperator
from airflow.providers.cncf.kubernetes.operators.job import KubernetesJobOperator
from airflow.providers.cncf.kubernetes.operators.kueue import KubernetesInstallKueueOperator
from airflow.providers.cncf.kubernetes.operators.spark_kubernetes import SparkKubernetesOperator
from airflow.providers.cncf.kubernetes.sensors.spark_kubernetes import SparkKubernetesSensor
from airflow.providers.snowflake.hooks.snowflake import SnowflakeHook
from airflow.providers.snowflake.operators.snowflake import SnowflakeSqlApiOperator
from airflow.providers.snowflake.operators.snowpark import SnowparkOperator
from airflow.providers.snowflake.transfers.copy_into_snowflake import (
    CopyFromExternalStageToSnowflakeOperator,
)

with DAG("d", start_date=pendulum.datetime(2024, 1, 1, tz="UTC"), schedule=None) as dag:
    EmptyOperator(task_id="runs")

with DAG("makes", schedule=None):
    SnowflakeOperator(task_id="sql", sql="select 1", warehouse="w")
    SnowflakeSqlApiOperator(task_id="api", sql="select 1", statement_count=1)
    KubernetesJobOperator(task_id="job", image="python:3.12", backoff_limit=2)
    SesEmailOperator(
        task_id="ses", mail_from="a@example.com", to="b@example.com", subject="s", html_content="h"
    )
"""


def test_what_is_imported_loads_and_makes_tasks(run_dag: RunDag) -> None:
    assert "d: success" in run_dag(SOURCE)
