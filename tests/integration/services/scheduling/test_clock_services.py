"""Real services whose wall clock is wrong; dates that are compared are those of the database."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from signal import SIGKILL
from socket import socket
from typing import Any, Final
from urllib.request import urlopen

import pytest
from sqlalchemy import Connection, text

from headway.testing.processes.faketime import WrongClock, wrong_clock
from headway.testing.services.cluster import ServiceCluster, service_cluster
from headway.testing.time.clock import until

pytestmark = pytest.mark.services

AHEAD: Final = 600.0
"""Seconds by which a clock is wrong: ten minutes."""

ANY_CLOCK: Final = {"HEADWAY_SCHEDULER_MAX_CLOCK_SKEW": "0"}

DAGS: Final = """
from datetime import timedelta

import pendulum

from headway.sdk import DAG, EmptyOperator, task

START = pendulum.parse("{start}").in_timezone("UTC")

with DAG("queue", schedule=timedelta(seconds=1), start_date=START, max_active_runs=10_000):
    EmptyOperator(task_id="nothing")

with DAG("skip", schedule=timedelta(seconds=1), start_date=START, overlap="skip"):
    EmptyOperator(task_id="nothing")

with DAG("by_hand", schedule=None, start_date=START):
    @task(retries=1, retry_delay=timedelta(seconds=2))
    def second_time(ti=None):
        if ti.try_number == 1:
            raise RuntimeError("the first time it fails")
    second_time()
"""

NOW = text("SELECT clock_timestamp()")
EARLY = text("""
    SELECT count(*) FROM dag_run WHERE schedule_date > clock_timestamp()
     UNION ALL
    SELECT count(*) FROM skipped_interval WHERE schedule_date > clock_timestamp()
""")
RUNS = text("SELECT count(*) FROM dag_run WHERE dag_id = :dag")
PROCESS = text("""
    SELECT beat.beat_at, beat.clock_skew
      FROM process JOIN process_beat AS beat ON beat.process_id = process.id
     WHERE process.id = :id AND process.ended_at IS NULL
""")
TIMES = text("""
    SELECT started_at, ended_at FROM dag_run WHERE dag_id = :dag
     UNION ALL
    SELECT task.started_at, task.ended_at FROM task_instance AS task WHERE dag_id = :dag
     UNION ALL
    SELECT queued_at, started_at FROM task_attempt WHERE dag_id = :dag
     UNION ALL
    SELECT started_at, ended_at FROM task_attempt WHERE dag_id = :dag
""")
STARTS = text("""
    SELECT array_agg(started_at - lag_ended) FROM (
        SELECT started_at, lag(ended_at) OVER (ORDER BY attempt) AS lag_ended
          FROM task_attempt WHERE dag_id = :dag) AS it
     WHERE lag_ended IS NOT NULL
""")


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    """No service, but DAGs that a parser has put in force."""
    with service_cluster(database_url, tmp_path) as cluster:
        with cluster.engine.connect() as conn:
            start = conn.execute(NOW).scalar_one().replace(microsecond=0)
        (cluster.dags / "dags.py").write_text(DAGS.format(start=start.isoformat()))
        parser = cluster.start("parser")
        for dag_id in ("queue", "skip", "by_hand"):
            cluster.wait_for_version(dag_id)
        assert cluster.end(parser) == 0
        yield cluster


@pytest.fixture
def clock(tmp_path: Path) -> WrongClock:
    return wrong_clock(tmp_path, AHEAD)


def runs(conn: Connection, dag_id: str) -> int:
    return int(conn.scalar(RUNS, {"dag": dag_id}) or 0)


def early(conn: Connection) -> int:
    """How many runs and left-out intervals there are whose time has not come."""
    return sum(conn.scalars(EARLY))


def until_runs(cluster: ServiceCluster, dag_id: str, number: int) -> None:
    """Wait until the DAG has so many runs; none may be there before its time."""

    def there(conn: Connection) -> bool:
        assert early(conn) == 0
        return runs(conn, dag_id) >= number

    cluster.until(there, f"{number} runs of {dag_id}")


def process(conn: Connection, number: int) -> tuple[datetime, float | None]:
    return tuple(conn.execute(PROCESS, {"id": number}).one())


def until_compared(cluster: ServiceCluster, number: int, seconds: float) -> None:
    """Wait until the process says by how much its clock differs."""

    def compared(conn: Connection) -> bool:
        skew = process(conn, number)[1]
        return skew is not None and abs(skew - seconds) < 5

    cluster.until(compared, f"process {number} {seconds:g} s ahead")


def free_port() -> int:
    with socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])


def metric(port: int) -> float:
    """What the scheduler shows to Prometheus of its clock."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return next(
        float(line.split()[1]) for line in lines if line.startswith("headway_clock_skew_seconds")
    )


def rows(cluster: ServiceCluster) -> dict[str, dict[str, Any]]:
    """What `headway doctor` finds, by check."""
    return {row["check"]: row for row in json.loads(cluster.headway("doctor", "-o", "json").stdout)}


@pytest.mark.regression
@pytest.mark.parametrize("seconds", [AHEAD, pytest.param(-AHEAD, marks=pytest.mark.long)])
def test_a_scheduler_with_a_wrong_clock_runs_what_is_due_by_the_database(
    cluster: ServiceCluster, clock: WrongClock, seconds: float
) -> None:
    """Run every second, on time: neither the next ten minutes now, nor nothing for ten minutes."""
    clock.set(seconds)

    scheduler = cluster.start("scheduler", given={**ANY_CLOCK, **clock.environment})

    until_runs(cluster, "queue", 5)
    until_runs(cluster, "skip", 1)
    until_compared(cluster, scheduler.id, seconds)
    assert "action=clock_skew" in scheduler.logged()


@pytest.mark.regression
def test_a_scheduler_beyond_the_bound_schedules_nothing_until_its_clock_is_right(
    cluster: ServiceCluster, clock: WrongClock
) -> None:
    port = free_port()
    shown = {"HEADWAY_SCHEDULER_HTTP_PORT": str(port)}
    scheduler = cluster.start("scheduler", given={**shown, **clock.environment})
    until_compared(cluster, scheduler.id, AHEAD)
    with cluster.engine.connect() as conn:
        beat, _ = process(conn, scheduler.id)
        now: datetime = conn.execute(NOW).scalar_one()

    cluster.until(
        lambda conn: process(conn, scheduler.id)[0] > beat + timedelta(seconds=4),
        "two heartbeats of a scheduler that waits",
    )

    with cluster.engine.connect() as conn:
        assert (runs(conn, "queue"), early(conn)) == (0, 0)
    assert "schedules nothing until the clock is right" in scheduler.logged()
    assert abs(metric(port) - AHEAD) < 5
    finding = rows(cluster)[f"clock of scheduler {scheduler.id}"]
    assert not finding["ok"]
    assert "ahead of the database's clock" in finding["found"]
    missing = now.replace(microsecond=0).isoformat()
    told = cluster.headway("explain", "queue", f"scheduled__{missing}", "nothing")
    assert "schedules nothing: its clock is 600.0 s ahead" in told.stdout, told

    clock.set(0)

    until_runs(cluster, "queue", 5)
    assert "action=clock_right" in scheduler.logged()
    until(
        lambda: f"clock of scheduler {scheduler.id}" not in rows(cluster),
        "a doctor who finds nothing wrong with the clock",
    )


@pytest.mark.regression
def test_no_clock_of_a_service_makes_a_time_negative_or_a_retry_early(
    cluster: ServiceCluster, clock: WrongClock, tmp_path: Path
) -> None:
    """A scheduler ahead, a worker behind, and a user who is ahead as well."""
    behind = wrong_clock(tmp_path / "home", -AHEAD)
    cluster.start("scheduler", given={**ANY_CLOCK, **clock.environment})
    worker = cluster.start("worker", given=behind.environment)
    cluster.headway("dags", "pause", "queue")
    cluster.headway("dags", "pause", "skip")

    triggered = cluster.headway("dags", "trigger", "by_hand", given=clock.environment)

    assert triggered.returncode == 0, triggered
    [run] = cluster.runs("by_hand")
    assert run.wait().state == "success"
    with cluster.engine.connect() as conn:
        for dag_id in ("by_hand", "queue", "skip"):
            for first, last in conn.execute(TIMES, {"dag": dag_id}):
                assert first is None or last is None or first <= last
        waits = conn.scalar(STARTS, {"dag": "by_hand"})
    assert [wait >= timedelta(seconds=2) for wait in waits] == [True]
    until_compared(cluster, worker.id, -AHEAD)
    assert "behind the database's clock" in rows(cluster)[f"clock of worker {worker.id}"]["found"]
    # Under faketime no program can sleep, which this one does when it ends in good order.
    assert cluster.end(worker, SIGKILL) == -SIGKILL
