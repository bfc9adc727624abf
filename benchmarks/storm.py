"""Thousands of DAGs due in the same minute: how fast their runs are created, and who waits."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import Connection, text

from benchmarks import server
from benchmarks.household import Household, household
from benchmarks.report import Row
from benchmarks.server import Database, Server

NAME: Final = "storm"
SIZES: Final = (1000, 5000, 10_000, 20_000)
JUDGED: Final = 10_000
FILES: Final = 100
SLOTS: Final = 8
AFTERWARDS: Final = 20.0
"""Seconds for which the worker's slots are watched once all runs are created."""

EVERY: Final = 0.05
PATIENCE: Final = 300.0
URGENT: Final = "urgent"

STORM: Final = """
import pendulum
from headway.sdk import DAG, task

for number in range({first}, {last}):
    with DAG(f"storm_{{number:05}}", schedule="{cron}", catchup=False,
             start_date=pendulum.datetime(2024, 1, 1, tz="UTC")):
        @task
        def nothing():
            pass

        nothing()
"""

URGENTLY: Final = """
from datetime import timedelta
import pendulum
from headway.sdk import DAG, task

with DAG("urgent", schedule=timedelta(seconds=2), catchup=False,
         start_date=pendulum.datetime(2024, 1, 1, tz="UTC")):
    @task(priority_weight=100)
    def nothing():
        pass

    nothing()
"""

# All that a sample looks at is live: runs that are created, attempts that have not ended.
_SAMPLE: Final = text("""
    SELECT (SELECT count(*) FROM dag_run WHERE dag_id <> :urgent) AS created,
           (SELECT count(*) FROM task_attempt WHERE ended_at IS NULL AND phase <> 'queued') AS busy,
           EXISTS (SELECT FROM task_attempt WHERE phase = 'queued')
           OR EXISTS (SELECT FROM task_instance WHERE state = 'scheduled' AND NOT limited)
               AS admissible
""")
_FIRST: Final = text("SELECT min(created_at) FROM dag_run WHERE dag_id <> :urgent")
_NOW: Final = text("SELECT clock_timestamp()")
_DELAYS: Final = text("""
    SELECT extract(epoch FROM coalesce(task.started_at, clock_timestamp()) - run.run_after)
      FROM dag_run AS run
      LEFT JOIN task_instance AS task ON task.dag_run_id = run.id
     WHERE run.dag_id = :urgent AND run.run_after BETWEEN :first AND :last
""")
_ENDED: Final = text("""
    SELECT count(*) FROM task_instance
     WHERE dag_id <> :urgent AND ended_at BETWEEN :first AND :last
""")
_NAMES: Final = {"urgent": URGENT}


@dataclass(slots=True)
class Watched:
    """What was seen of one storm; times are the database's."""

    first: datetime
    last: datetime
    until: datetime
    ended: int
    busy: list[bool] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """How long it took to create all runs."""
        return (self.last - self.first).total_seconds()


def run() -> Iterator[Row]:
    """Have storms of each size; the cost of a run is held against that in the smallest one."""
    costs: dict[int, float] = {}
    with server.running() as postgres:
        for size in SIZES:
            watched = _storm(postgres, size)
            costs[size] = 1e3 * watched.seconds / size
            yield from _rows(size, watched, costs)


def _rows(size: int, watched: Watched, costs: dict[int, float]) -> Iterator[Row]:
    case = f"{size:,} DAGs due in one minute"
    metric = "until all runs are created"
    if size == JUDGED:
        yield Row.at_most(NAME, case, [watched.seconds], "s", 15, metric)
    else:
        yield Row.of(NAME, case, metric, [watched.seconds], "s")
    yield Row.of(NAME, case, "creation, for each run", [costs[size]], "ms")
    if size > SIZES[0]:
        ratio = costs[size] / costs[SIZES[0]]
        metric = f"creation of a run, against {SIZES[0]:,} DAGs"
        yield Row.at_most(NAME, case, [ratio], "", 1.3, metric)
    share = sum(watched.busy) / len(watched.busy)
    yield Row.at_least(NAME, case, [share], "", 0.9, "samples in which all slots are busy")
    yield Row.at_most(
        NAME, case, [max(watched.delays)], "s", 2, "latest start of a task of high priority"
    )
    seconds = (watched.until - watched.first).total_seconds()
    yield Row.of(
        NAME, case, "tasks meanwhile", [watched.ended / seconds], "tasks/s", better="higher"
    )


def _storm(postgres: Server, size: int) -> Watched:
    with (
        postgres.database(f"{NAME}_{size}") as database,
        household(database) as services,
    ):
        _write(services, size)
        for service in ("parser", "scheduler", "worker"):
            services.start(service)
        services.settle(size + 1, patience=PATIENCE)
        return _watched(database, size)


def _write(services: Household, size: int) -> None:
    """Write DAG files that are due in the first minute by which all of them are parsed."""
    due = datetime.now(UTC) + timedelta(seconds=60 + size / 150)
    due = due.replace(second=0, microsecond=0) + timedelta(minutes=1)
    cron, each = f"{due.minute} {due.hour} * * *", size // FILES
    for number in range(FILES):
        first = number * each
        source = STORM.format(first=first, last=first + each, cron=cron)
        (services.files / f"storm_{number:03}.py").write_text(source)
    (services.files / f"{URGENT}.py").write_text(URGENTLY)


def _watched(database: Database, size: int) -> Watched:
    """Look until all runs are created and for a while longer, or until all tasks have ended."""
    busy: list[bool] = []
    deadline, created_at = time.monotonic() + PATIENCE, None
    with database.owner.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        if conn.execute(_SAMPLE, _NAMES).one().created:
            raise RuntimeError(f"the storm came before all {size} DAGs were planned")
        while created_at is None or _goes_on(conn, created_at):
            row = conn.execute(_SAMPLE, _NAMES).one()
            if row.admissible:
                busy.append(row.busy >= SLOTS)
            if created_at is None and row.created >= size:
                created_at = conn.scalar(_NOW)
            if time.monotonic() > deadline:
                raise RuntimeError(f"not reached: {size} runs; there are {row.created}")
            time.sleep(EVERY)
        first, until = conn.scalar(_FIRST, _NAMES), conn.scalar(_NOW)
        span = {**_NAMES, "first": first, "last": until}
        ended = conn.execute(_ENDED, span).scalar_one()
        delays = [float(each) for each in conn.scalars(_DELAYS, span)]
    return Watched(first, created_at, until, ended, busy, delays)


def _goes_on(conn: Connection, created_at: datetime) -> bool:
    now = conn.execute(_NOW).scalar_one()
    unfinished = conn.execute(_SAMPLE, _NAMES).one().admissible
    return bool(unfinished and (now - created_at).total_seconds() < AFTERWARDS)
