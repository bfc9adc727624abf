"""spark-submit, by the names of the Spark provider, on a local Spark."""

from pathlib import Path

import pytest
from tests.providers.conftest import RunDag

pytestmark = pytest.mark.spark

SOURCE = """
import pendulum
from airflow import DAG
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

with DAG("d", start_date=pendulum.datetime(2024, 1, 1, tz="UTC"), schedule=None):
    SparkSubmitOperator(
        task_id="submit", application="job.py", application_args=["{{ ds }}"], conn_id="cluster"
    )
"""
JOB = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
print("sum:", spark.range(10).groupBy().sum().first()[0], sys.argv[1])
spark.stop()
"""


def test_an_application_is_submitted(run_dag: RunDag, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "job.py").write_text(JOB)

    said = run_dag(SOURCE, cluster={"conn_type": "spark", "host": "local[1]"})

    assert "sum: 45 2024-01-05" in said
