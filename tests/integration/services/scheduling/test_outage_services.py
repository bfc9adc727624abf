"""What falls due while nobody schedules a DAG, as all schedulers are killed, or it is paused.

DAGs that run each second, and real processes; the dates are those of the database.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from signal import SIGKILL
from typing import Final

import pytest
from sqlalchemy import Connection, text

from headway.testing.services.cluster import ServiceCluster, service_cluster

pytestmark = [pytest.mark.services, pytest.mark.long]

SECOND: Final = timedelta(seconds=1)
WINDOW: Final = 3
MODES: Final = ("none", "latest", "all", "rollup", "window")
THRESHOLD: Final = 8
"""Seconds without a scheduler after which there was an outage."""

DAGS: Final = f"""
from datetime import timedelta

import pendulum

from headway.sdk import DAG, EmptyOperator

START = pendulum.parse("{{start}}").in_timezone("UTC")

for mode in {MODES!r}:
    with DAG(
        mode,
        schedule=timedelta(seconds=1),
        start_date=START,
        catchup="all" if mode == "window" else mode,
        catchup_window=timedelta(seconds={WINDOW}) if mode == "window" else None,
        max_active_runs=1_000_000,
    ):
        EmptyOperator(task_id="nothing")
"""

NOW = text("SELECT clock_timestamp()")
DEALT_WITH = text("""
    SELECT max(schedule_date)
      FROM (SELECT schedule_date FROM dag_run WHERE dag_id = :dag
             UNION ALL
            SELECT schedule_date FROM skipped_interval WHERE dag_id = :dag) AS either
""")
RUNS = text("""
    SELECT schedule_date, interval_start, interval_end FROM dag_run
     WHERE dag_id = :dag AND schedule_date > :last ORDER BY schedule_date
""")
REASONS = text("""
    SELECT reason FROM skipped_interval
     WHERE dag_id = :dag AND schedule_date > :last ORDER BY schedule_date
""")
UP_SINCE = text("SELECT since FROM scheduler_uptime")
UNPAUSED = text("SELECT scheduled_since FROM dag WHERE dag_id = :dag")


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    """Two schedulers that have begun to create runs."""
    with service_cluster(database_url, tmp_path) as cluster:
        with cluster.engine.connect() as conn:
            start = conn.execute(NOW).scalar_one().replace(microsecond=0)
        (cluster.dags / "modes.py").write_text(DAGS.format(start=start.isoformat()))
        parser = cluster.start("parser")
        for mode in MODES:
            cluster.wait_for_version(mode)
        assert cluster.end(parser) == 0
        for number in (1, 2):
            cluster.start("scheduler", number)
        for mode in MODES:
            until_dealt_with(cluster, mode, start)
        yield cluster


def dealt_with(conn: Connection, dag_id: str) -> datetime | None:
    date: datetime | None = conn.scalar(DEALT_WITH, {"dag": dag_id})
    return date


def until_dealt_with(cluster: ServiceCluster, dag_id: str, moment: datetime) -> None:
    """Wait until the DAG has come past that moment."""

    def past(conn: Connection) -> bool:
        date = dealt_with(conn, dag_id)
        return date is not None and date > moment

    cluster.until(past, f"{dag_id} going on")


def last_of_each(cluster: ServiceCluster) -> dict[str, datetime]:
    """Return the last date of each DAG that was dealt with."""
    with cluster.engine.connect() as conn:
        found = {mode: dealt_with(conn, mode) for mode in MODES}
    return {mode: date for mode, date in found.items() if date is not None}


def wait(cluster: ServiceCluster, moment: datetime) -> None:
    """Wait until that moment has come."""
    cluster.until(lambda conn: bool(conn.execute(NOW).scalar_one() > moment), f"{moment:%T}")


def expected(mode: str, missed: Sequence[datetime], since: datetime) -> Sequence[datetime]:
    """Return when the runs were due that there are to be for those that were missed."""
    match mode:
        case "none":
            return []
        case "latest" | "rollup":
            return missed[-1:]
        case "window":
            return [date for date in missed if date >= since - WINDOW * SECOND]
        case _:
            return missed


REASON: Final = {
    "none": ["catchup"],
    "latest": ["catchup"],
    "rollup": ["rollup"],
    "window": ["window"],
}


def check(cluster: ServiceCluster, mode: str, last: datetime, since: datetime) -> None:
    """Check the runs after `last`: of what was missed until `since`, and of what came then."""
    until_dealt_with(cluster, mode, since + 3 * SECOND)
    with cluster.engine.connect() as conn:
        rows = conn.execute(RUNS, {"dag": mode, "last": last}).all()
        reasons = list(conn.scalars(REASONS, {"dag": mode, "last": last}))
    missed = [last + n * SECOND for n in range(1, (since - last) // SECOND + 1)]
    assert len(missed) > WINDOW
    dates = [row.schedule_date for row in rows]
    later = [missed[-1] + n * SECOND for n in range(1, len(dates) + 1)]

    wanted = [*expected(mode, missed, since), *later][: len(dates)]
    assert dates == wanted
    assert reasons == REASON.get(mode, [])
    starts = [date - SECOND for date in dates]
    if mode == "rollup":
        starts[0] = last
    assert [row.interval_start for row in rows] == starts
    assert [row.interval_end for row in rows] == dates


def test_what_falls_due_while_no_scheduler_lives(cluster: ServiceCluster) -> None:
    for scheduler in list(cluster.members):
        assert cluster.end(scheduler, SIGKILL) == -SIGKILL
    with cluster.engine.connect() as conn:
        killed = conn.execute(NOW).scalar_one()
    wait(cluster, killed + (THRESHOLD + 1) * SECOND)
    last = last_of_each(cluster)

    named = ("SCHEDULER_HEALTH_CHECK_THRESHOLD", "OUTAGE_THRESHOLD")
    thresholds = {f"HEADWAY_SCHEDULER_{name}": str(THRESHOLD) for name in named}
    cluster.start("scheduler", 3, thresholds | {"HEADWAY_SCHEDULER_HEARTBEAT_INTERVAL": "0.2"})

    def comes_back(conn: Connection) -> datetime | None:
        since: datetime = conn.execute(UP_SINCE).scalar_one()
        return since if since > killed else None

    since = cluster.until(comes_back, "the schedulers coming back")
    assert since > killed + THRESHOLD * SECOND
    for mode in MODES:
        check(cluster, mode, last[mode], since)


def test_what_falls_due_while_a_dag_is_paused(cluster: ServiceCluster) -> None:
    for mode in MODES:
        assert cluster.headway("dags", "pause", mode).returncode == 0
    last = last_of_each(cluster)
    wait(cluster, max(last.values()) + (WINDOW + 2) * SECOND)
    assert last_of_each(cluster) == last

    for mode in MODES:
        assert cluster.headway("dags", "unpause", mode).returncode == 0

    for mode in MODES:
        with cluster.engine.connect() as conn:
            since = conn.execute(UNPAUSED, {"dag": mode}).scalar_one()
        check(cluster, mode, last[mode], since)
