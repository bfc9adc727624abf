"""Spark through the real worker: sessions and applications, and what is left when they overrun."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import pytest

from headway.runtime.daemon.clock import SystemClock
from headway.testing.data.known import known
from headway.testing.services.machine import Machine
from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun
from headway.testing.time.clock import until

pytestmark = [pytest.mark.services, pytest.mark.spark, pytest.mark.long]
pytest.importorskip("pyspark")

DAGS = Path(__file__).parent / "dags" / "spark_jobs"
LONG = 180.0
NAMES = ("helped", "submitted", "overdue")


@dataclass(frozen=True)
class Jobs:
    """One run of each DAG, all of them ended, in services that go on."""

    machine: Machine
    stack: Stack
    runs: Mapping[str, StackRun]
    beats: Path


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jobs]:
    machine = Machine.new(tmp_path_factory.mktemp("spark"))
    beats = machine.root / "beats"
    with machine.standalone(DAGS) as (standalone, engine):
        stack = Stack(machine.home, DAGS, machine.environment, engine, standalone.process)
        for name in NAMES:
            stack.wait_for_version(name)
        # One after the other: the last ones have little time, and the first one starts Spark.
        runs = {name: ended(stack.trigger(name, {"beats": str(beats)})) for name in NAMES}
        yield Jobs(machine, stack, runs, beats)


def ended(run: StackRun) -> StackRun:
    until(lambda: run.row.ended_at, f"the end of {run.dag_id}", LONG)
    return run


def test_a_udf_calls_a_module_of_the_bundle(jobs: Jobs) -> None:
    run = jobs.runs["helped"]

    assert run.states() == {"cubes": "success"}
    assert run.xcom("cubes") == [0, 1, 8, 27]


def test_an_application_beside_the_dag_file_succeeds(jobs: Jobs) -> None:
    run = jobs.runs["submitted"]
    log = run.log("submit")

    assert run.states() == {"submit": "success"}
    assert "counted 1000\n" in log
    told = re.search(r"application (local-\d+)", log)
    assert told is not None
    assert known(run.attempt("submit").handle)["application_id"] == told[1]


def test_an_application_that_fails_ends_the_error_with_its_last_lines(jobs: Jobs) -> None:
    run = ended(jobs.stack.trigger("failing"))
    attempt = run.attempt("submit")

    assert run.states() == {"submit": "failed"}
    assert attempt.outcome == "failed"
    assert "application.py exited with 1. Its output ends with:" in known(attempt.error)
    assert "ValueError: invalid literal for int() with base 10: 'none'" in known(attempt.error)
    assert known(attempt.handle)["application_id"].startswith("local-")


@pytest.mark.parametrize("task_id", ["beats_for_ever", "submit"])
def test_a_task_that_overruns_is_stopped_and_says_why(jobs: Jobs, task_id: str) -> None:
    attempt = jobs.runs["overdue"].attempt(task_id)

    assert attempt.outcome == "timed_out"
    assert "longer than its execution_timeout of 30 s" in known(attempt.error)


def test_the_job_of_a_stopped_task_ends_in_spark(jobs: Jobs) -> None:
    """Its UDF lets a file grow, in a process of Spark's."""
    clock, never = SystemClock(), Event()

    def is_still() -> bool:
        size = jobs.beats.stat().st_size
        clock.wait(never, 1.0)
        return jobs.beats.stat().st_size == size

    assert jobs.beats.stat().st_size > 0
    until(is_still, "the end of the job", 20)


def test_the_session_of_a_stopped_task_is_gone(jobs: Jobs) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.session import SparkSession

    session = known(jobs.runs["overdue"].attempt("beats_for_ever").handle)["session_id"]

    def refusal() -> str | None:
        try:
            spark = SparkSession.builder.remote(f"{address(jobs)};session_id={session}").create()
            spark.client.set_retry_policies([])
            assert spark.version
        except PySparkException as error:
            return str(error)
        return None

    assert "SESSION_CLOSED" in until(refusal, "the session refused", 20)


def test_nothing_of_a_stopped_application_runs(jobs: Jobs) -> None:
    assert "begun\n" in jobs.runs["overdue"].log("submit")
    until(
        lambda: "endless_application" not in "".join(jobs.machine.processes().values()),
        "the end of the driver",
        20,
    )


def address(jobs: Jobs) -> str:
    """Return where the worker's Spark listens, with the token that only its owner can see."""
    (log,) = jobs.machine.home.glob("spark/*/*/server.log")
    port = re.findall(r"server started at: \S*:(\d+)", log.read_text())[-1]
    (server,) = (
        pid for pid, line in jobs.machine.processes().items() if "SparkConnectServer" in line
    )
    variables = Path(f"/proc/{server}/environ").read_bytes().decode().split("\0")
    tokens = dict(each.partition("=")[::2] for each in variables)
    token = tokens["SPARK_CONNECT_AUTHENTICATE_TOKEN"]
    return f"sc://localhost:{port}/;token={token};user_id=headway"
