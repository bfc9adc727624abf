"""`headway dags test` calls a DAG's functions in its own process."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headway.cli.local.dag_test import run_dag

NOW = datetime(2024, 1, 2, 12, tzinfo=UTC)
DAG_FILE = """
from headway.sdk import DAG, BashOperator, task

def tell(context):
    ti, run = context.get("ti"), context["dag_run"]
    about = f"{ti.task_id} {ti.map_index} {ti.state}" if ti else f"{run.dag_id} {run.state}"
    print("told:", about, context["reason"], repr(context.get("exception")))

def fail(context):
    raise RuntimeError("nobody listens")

with DAG("trial", default_args={"on_failure_callback": tell}, on_failure_callback=tell):
    @task(retries=3)
    def divide(number):
        return 1 // number

    @task(on_success_callback=[fail, tell])
    def well():
        return 1

    divide.expand(number=[1, 0])
    well()
"""


@pytest.fixture(autouse=True)
def _restored_path() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path


def test_functions_are_called_for_what_a_trial_run_comes_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "trial.py").write_text(DAG_FILE)

    assert run_dag(tmp_path / "trial.py", "trial", None, {}, NOW) == 1

    lines = capsys.readouterr().out.splitlines()
    error = "ZeroDivisionError: integer division or modulo by zero"
    said = [line for line in lines if "told:" in line or "] call" in line]
    assert said == [
        "[divide[1]] calling back for failure",
        f"told: divide 1 failed failed AirflowException({error!r})",
        "[well] calling back for success",
        "told: well -1 success success None",
        "[well] callback failed: fail: RuntimeError: nobody listens",
        "[trial] calling back for failure",
        "told: divide 1 failed task_failure None",
    ]
    assert any("in fail" in line for line in lines)
