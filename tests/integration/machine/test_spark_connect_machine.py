"""Spark sessions through the real worker: isolated, seen, ended for certain, never doubled."""

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from headway.embedded.java import find_java_home
from headway.testing.data.known import known
from headway.testing.database import rows
from headway.testing.metrics.scraping import free_port, scrape
from headway.testing.processes.environment import path_and_home
from headway.testing.services.machine import Machine
from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun
from headway.testing.time.clock import until
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings

pytestmark = [pytest.mark.services, pytest.mark.spark, pytest.mark.long]
pytest.importorskip("pyspark")

DAGS = Path(__file__).parent / "dags" / "spark_connect"
LONG = 180.0
SERVER = "SparkConnectServer"
FAST_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

# A worker that is killed is missed soon.
SOON = {
    "HEADWAY_WORKER_HEARTBEAT_INTERVAL": "1",
    "HEADWAY_WORKER_KILL_GRACE": "2",
    "HEADWAY_WORKER_LEASE_DURATION": "10",
    "HEADWAY_SCHEDULER_HEARTBEAT_INTERVAL": "1",
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "6",
    "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL": "1",
    "HEADWAY_SCHEDULER_LEASE_GRACE": "1",
}


@dataclass(frozen=True)
class Bench:
    """Services with Spark of their own, and a Connect server that is none of theirs."""

    machine: Machine
    stack: Stack
    remote: ConnectServer
    port: int
    """Where the worker shows its metrics."""

    def trigger(self, dag_id: str, folder: Path | None = None) -> StackRun:
        return self.stack.trigger(dag_id, {"folder": str(folder)} if folder else {})

    def run(self, dag_id: str, folder: Path | None = None) -> StackRun:
        return ended(self.trigger(dag_id, folder))

    def task(self, run: StackRun, task_id: str) -> dict[str, Any]:
        """Return what `headway tasks list` tells programs of a task of a run that has begun."""

        def told() -> dict[str, Any] | None:
            listed = self.machine.run("tasks", "list", run.dag_id, run.run_id, "-o", "json")
            return next(
                (row for row in json.loads(listed.stdout) if row["task_id"] == task_id), None
            )

        return until(told, f"the task {task_id}", LONG)

    def server(self) -> int:
        """Return the process of the worker's own server."""
        (pid,) = (pid for pid, line in self.machine.processes().items() if SERVER in line)
        return pid

    def wait_for_progress(self, run: StackRun, task_id: str) -> dict[str, Any]:
        """Wait until a task tells of tasks that run in Spark."""

        def progress() -> dict[str, Any] | None:
            attempts = self.task(run, task_id)["attempts"]
            found: dict[str, Any] | None = attempts[-1]["progress"] if attempts else None
            return found if found and found["tasks_running"] else None

        return until(progress, f"progress of {task_id}", LONG)


def ended(run: StackRun) -> StackRun:
    until(lambda: run.row.ended_at, f"the end of {run.dag_id}", LONG)
    return run


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    scratch = tmp_path_factory.mktemp("remote")
    settings = ServerSettings(
        java_home=find_java_home(None, os.environ, scratch),
        scratch=scratch,
        environment=path_and_home(),
        java_options=FAST_JAVA,
    )
    server = ConnectServer.start(settings)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, remote: ConnectServer) -> Iterator[Bench]:
    endpoint = remote.wait_ready(LONG)
    connections = {
        "HEADWAY_CONN_REMOTE": f"{endpoint.url}/;token={endpoint.token}",
        "HEADWAY_CONN_NOWHERE": "sc://localhost:1",
    }
    port = free_port()
    given = {**SOON, **connections, "HEADWAY_WORKER_HTTP_PORT": str(port)}
    machine = Machine.new(tmp_path_factory.mktemp("connect"), given)
    dags = machine.root / "dags"
    shutil.copytree(DAGS, dags)
    with machine.standalone(dags) as (standalone, engine):
        stack = Stack(machine.home, dags, machine.environment, engine, standalone.process)
        stack.wait_for_version("nowhere")
        stack.grant("remote", "nowhere")
        yield Bench(machine, stack, remote, port)


def test_figures_and_cost_are_known_soon_after_the_end(bench: Bench, tmp_path: Path) -> None:
    run = bench.run("counting", tmp_path)
    assert run.xcom("counts") == 10

    figures = until(lambda: bench.task(run, "counts")["attempts"][0]["figures"], "figures")

    assert figures["rows_written"] == 1000
    assert figures["rows_read"] >= 1000
    assert figures["jobs"] >= 2
    assert figures["tasks"] >= 5
    assert figures["executor_run_ms"] > 0
    assert figures["executor_cpu_ms"] > 0
    assert min(figures[name] for name in ("bytes_read", "bytes_written")) > 0
    assert min(figures[f"shuffle_{way}_bytes"] for way in ("read", "write")) > 0
    page = scrape(bench.port)
    assert page["headway_spark_tasks_total", frozenset()] == figures["tasks"]
    assert page["headway_spark_bytes_total", frozenset({"read"})] == figures["bytes_read"]
    assert page["headway_spark_executor_seconds_total", frozenset()] > 0
    (cost,) = json.loads(bench.machine.run("spark", "cost", "counting", "-o", "json").stdout)
    assert (cost["run_id"], cost["attempts"], cost["unknown"]) == (run.run_id, 1, 0)
    assert cost["rows_written"] == 1000
    table = bench.machine.run("spark", "cost").stdout
    assert re.search(r"counting +- +1 +0 ", table), table


def test_two_versions_of_a_helper_and_two_views_of_a_name_live_side_by_side(
    bench: Bench, tmp_path: Path
) -> None:
    first = bench.trigger("side_by_side", tmp_path)
    until((tmp_path / "at-1").exists, "the first run under way", LONG)
    helper = bench.stack.dags / "helper.py"
    helper.write_text(helper.read_text().replace("VERSION = 1", "VERSION = 2"))
    bench.stack.wait_for_version("side_by_side", 2)

    second = ended(bench.trigger("side_by_side", tmp_path))

    assert ended(first).xcom("meets") == [1, 41]
    assert second.xcom("meets") == [2, 42]


def test_cancel_ends_the_job_and_is_told_once_that_is_certain(bench: Bench) -> None:
    run = bench.trigger("for_ever")
    progress = bench.wait_for_progress(run, "endless")
    assert (progress["tasks"], progress["stages"]) == (8, 1)
    assert progress["operation_id"]
    assert re.search(r"0/8 tasks in 0/1 stages", str(bench.task(run, "endless")["spark"]))

    bench.machine.run("tasks", "cancel", "for_ever", run.run_id, "endless", "--yes")
    ended(run)

    attempt = run.attempt("endless")
    assert attempt.outcome == "cancelled"
    assert known(attempt.handle)["application_id"].startswith("local-")
    assert is_closed(own_server(bench), known(attempt.handle)["session_id"])
    figures = until(lambda: bench.task(run, "endless")["attempts"][0]["figures"], "figures")
    assert figures["jobs"] == 1


def own_server(bench: Bench) -> str:
    """Return where the worker's own server listens, with the token that only its owner can see."""
    log = Path(f"/proc/{bench.server()}/cwd/server.log").read_text()
    (port,) = re.findall(r"started at: \S*:(\d+)", log)
    variables = Path(f"/proc/{bench.server()}/environ").read_bytes().decode().split("\0")
    tokens = dict(each.partition("=")[::2] for each in variables)
    return f"sc://localhost:{port}/;token={tokens['SPARK_CONNECT_AUTHENTICATE_TOKEN']}"


def is_closed(address: str, session_id: str) -> bool:
    """Whether a server refuses a session for good."""
    from pyspark.errors import PySparkException
    from pyspark.sql.connect.session import SparkSession

    try:
        url = f"{address};user_id=headway;session_id={session_id}"
        spark = SparkSession.builder.remote(url).create()
        spark.client.set_retry_policies([])
        assert spark.version
    except PySparkException as error:
        return "SESSION_CLOSED" in str(error)
    return False


def test_a_killed_server_fails_its_job_and_the_next_task_gets_another(
    bench: Bench, tmp_path: Path
) -> None:
    run = bench.trigger("for_ever")
    bench.wait_for_progress(run, "endless")
    killed = bench.server()

    os.kill(killed, signal.SIGKILL)
    ended(run)

    assert "The Spark Connect server does not answer" in known(run.attempt("endless").error)
    assert bench.task(run, "endless")["attempts"][0]["figures"] is None
    assert bench.run("counting", tmp_path).state == "success"
    assert bench.server() != killed


def test_a_killed_workers_job_dies_with_it_and_is_run_once_more(
    bench: Bench, tmp_path: Path
) -> None:
    run = bench.trigger("lost_here", tmp_path)
    bench.wait_for_progress(run, "endless_once")
    server = bench.server()

    os.kill(worker(bench), signal.SIGKILL)

    until(lambda: server not in bench.machine.processes(), "the end of the worker's Spark")
    # And so it is dead before the attempt is given away.
    assert [attempt.outcome for attempt in run.attempts("endless_once")] == [None]
    ended(run)
    assert [attempt.outcome for attempt in run.attempts("endless_once")] == ["lost", "success"]
    assert run.xcom("endless_once") == 5


def test_a_killed_workers_job_elsewhere_is_ended_before_the_retry_runs(
    bench: Bench, tmp_path: Path
) -> None:
    """The server has no client any more, and would go on for minutes by itself."""
    run = bench.trigger("lost_there", tmp_path)
    bench.wait_for_progress(run, "endless_once")
    first = known(run.attempt("endless_once").handle)
    assert "process" not in first

    os.kill(worker(bench), signal.SIGKILL)
    ended(run)

    attempts = run.attempts("endless_once")
    assert [attempt.outcome for attempt in attempts] == ["lost", "success"]
    endpoint = bench.remote.wait_ready(LONG)
    assert is_closed(f"{endpoint.url}/;token={endpoint.token}", first["session_id"])
    assert bench.task(run, "endless_once")["attempts"][1]["figures"] is None
    cost = bench.machine.run("spark", "cost", "lost_there", "-o", "json").stdout
    assert json.loads(cost)[0]["unknown"] == 2


def worker(bench: Bench) -> int:
    with bench.stack.engine.connect() as conn:
        query = text("SELECT pid FROM process WHERE kind = 'worker' AND ended_at IS NULL")
        (pid,) = conn.scalars(query)
    return int(pid)


def test_a_server_elsewhere_that_is_not_there_is_told(bench: Bench, tmp_path: Path) -> None:
    run = bench.run("nowhere", tmp_path)

    assert "The Spark Connect server does not answer" in known(run.attempt("counts").error)


def test_no_token_is_where_others_may_read(bench: Bench) -> None:
    """Not in the database, in a log, on a command line, or in the environment of a task."""
    token = bench.remote.wait_ready(LONG).token
    assert token

    assert not any(token in line for line in bench.machine.processes().values())
    logs = [path for path in bench.machine.home.rglob("*.log") if path.is_file()]
    assert logs
    assert not any(token in path.read_text(errors="replace") for path in logs)
    with bench.stack.engine.connect() as conn:
        assert token not in rows.as_text(conn, "task_attempt")


def test_watching_a_run_that_has_ended_tells_how(bench: Bench, tmp_path: Path) -> None:
    run = bench.run("counting", tmp_path)

    watched = bench.machine.run("runs", "watch", "counting", run.run_id)

    assert watched.returncode == 0
    assert "success: 1/1 tasks ended (1 success)" in watched.stdout
