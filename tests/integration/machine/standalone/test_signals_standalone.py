"""What stops `headway standalone`, when, and what can be done with its home afterwards."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, TextClause, text

from headway.testing.services.machine import Command, Machine

pytestmark = pytest.mark.services

STOPPED = 0
WITHOUT_LAUNCHER = 30.0
"""Seconds in which all ends whose launcher was killed: a worker waits in vain for the database."""

DAG = """
from headway.sdk import dag, task

@task.bash
def ignores_signals():
    return "trap '' TERM INT; echo started; while true; do sleep 600; done"

@task.pyspark
def computes(spark):
    spark.range(10**12).selectExpr("sum(id * id % 7)").collect()

@dag(schedule=None)
def endless():
    ignores_signals()

@dag(schedule=None)
def endless_in_spark():
    computes()

endless()
endless_in_spark()
"""

VERSIONS = text("SELECT count(*) FROM dag WHERE version_id IS NOT NULL")
BUSY = text("SELECT count(*) FROM task_attempt WHERE phase = 'running'")
IN_SPARK = text("SELECT count(*) FROM task_attempt WHERE handle IS NOT NULL")
RUNS = text("SELECT count(*) FROM dag_run")


def scalar(engine: Engine, query: TextClause) -> int:
    with engine.connect() as conn:
        return int(conn.execute(query).scalar_one())


@pytest.fixture
def endless(dags: Path) -> Path:
    (dags / "endless.py").write_text(DAG)
    return dags


def begin(machine: Machine, command: Command, engine: Engine, dag_id: str) -> None:
    """Run a DAG of one endless task, and wait until that runs."""
    command.until(lambda: scalar(engine, VERSIONS) == 2, "the DAGs in force")
    assert machine.run("dags", "trigger", dag_id).returncode == 0
    running = IN_SPARK if dag_id == "endless_in_spark" else BUSY
    command.until(lambda: scalar(engine, running) == 1, "the task running")


def started(machine: Machine, command: Command) -> bool:
    return machine.home.exists()


def postgres_is_there(machine: Machine, command: Command) -> bool:
    return (machine.home / "postgres" / "data" / "postmaster.pid").exists()


def services_are_there(machine: Machine, command: Command) -> bool:
    return "Ctrl-C stops everything" in command.printed()


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        (started, signal.SIGINT),
        pytest.param(postgres_is_there, signal.SIGINT, marks=pytest.mark.long),
        pytest.param(postgres_is_there, signal.SIGTERM, marks=pytest.mark.long),
        pytest.param(services_are_there, signal.SIGINT, marks=pytest.mark.long),
        pytest.param(services_are_there, signal.SIGTERM, marks=pytest.mark.long),
        pytest.param(services_are_there, signal.SIGHUP, marks=pytest.mark.long),
    ],
)
def test_a_signal_while_it_starts(
    machine: Machine,
    dags: Path,
    moment: Callable[[Machine, Command], bool],
    number: signal.Signals,
) -> None:
    with machine.running("standalone") as command:
        command.until(lambda: moment(machine, command), moment.__name__)

        assert command.end(number) == STOPPED

    assert command.printed().endswith("Stopped.\n")
    assert command.complained() == ""
    assert machine.processes() == {}
    with machine.standalone(dags):
        assert machine.run("db", "check").returncode == 0


@pytest.mark.parametrize(
    ("dag_id", "number"),
    [
        ("endless", signal.SIGTERM),
        pytest.param(
            "endless_in_spark", signal.SIGINT, marks=(pytest.mark.spark, pytest.mark.long)
        ),
    ],
)
def test_a_signal_while_a_task_runs(
    machine: Machine, endless: Path, dag_id: str, number: signal.Signals
) -> None:
    with machine.standalone(endless) as (command, engine):
        begin(machine, command, engine, dag_id)

        assert command.end(number) == STOPPED

    assert command.complained() == ""
    assert machine.processes() == {}
    with machine.standalone(endless) as (command, engine):
        assert scalar(engine, RUNS) == 1
        command.until(lambda: scalar(engine, BUSY) == 1, "the task running again")


@pytest.mark.parametrize(
    "dag_id",
    [
        "endless",
        pytest.param("endless_in_spark", marks=(pytest.mark.spark, pytest.mark.long)),
    ],
)
def test_everything_ends_with_a_launcher_that_is_killed(
    machine: Machine, endless: Path, dag_id: str
) -> None:
    with machine.standalone(endless) as (command, engine):
        begin(machine, command, engine, dag_id)

        assert command.end(signal.SIGKILL) == -signal.SIGKILL

    machine.wait_until_idle(WITHOUT_LAUNCHER)
    with machine.standalone(endless) as (command, engine):
        assert scalar(engine, RUNS) == 1
        command.until(lambda: scalar(engine, BUSY) == 1, "the task running again")


@pytest.mark.long
def test_a_start_right_after_the_launcher_was_killed(machine: Machine, endless: Path) -> None:
    """Its Postgres and its services may still be ending; the new ones wait or get along."""
    with machine.standalone(endless) as (command, engine):
        begin(machine, command, engine, "endless")
        command.end(signal.SIGKILL)

    with machine.standalone(endless) as (command, engine):
        assert scalar(engine, RUNS) == 1
        assert command.complained() == ""
