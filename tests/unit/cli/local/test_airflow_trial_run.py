"""`headway dags test` runs a DAG file that imports `airflow`, and says what is ignored in it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headway.cli.local.dag_test import run_dag
from headway.testing.data.airflow_names import without_airflow

NOW = datetime(2024, 1, 2, 12, tzinfo=UTC)
DAG_FILE = """
from airflow import DAG
from airflow.operators.bash import BashOperator
from airflow.operators.python import PythonOperator
from airflow.utils.dates import days_ago

with DAG("trial", start_date=days_ago(1), orientation="TB") as dag:
    first = BashOperator(task_id="first", bash_command="echo {{ ds }}")
    second = PythonOperator(task_id="second", python_callable=lambda ti: ti.xcom_pull("first"))
    first >> second
"""


@pytest.fixture(autouse=True)
def _airflow() -> Iterator[None]:
    with without_airflow():
        yield


def test_it_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "trial.py").write_text(DAG_FILE)

    assert run_dag(tmp_path / "trial.py", "trial", None, {}, NOW) == 0

    said = capfd.readouterr().out
    assert "[headway] The argument orientation of a DAG has no effect" in said
    assert "[second] success" in said
