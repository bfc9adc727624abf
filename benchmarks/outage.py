"""The first minute after an outage: 100,000 runs that were missed, and one DAG that is on time."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from statistics import quantiles
from typing import Final

from sqlalchemy import Connection, text

from benchmarks.support import server
from benchmarks.support.fleet import Fleet, fleet
from benchmarks.support.report import Row
from benchmarks.support.shapes import spec, store, task
from benchmarks.support.turns import turns
from headway.domain.dag.spec import DagSpec, TimetableSpec

NAME: Final = "outage"
REPEAT: Final = 3
DAGS: Final = 100
MISSED: Final = 1000
"""Runs of each DAG."""

PATIENCE: Final = 600.0
ON_TIME: Final = "on_time"

# Not to count what is created: that would take a good part of a core.
_CREATED: Final = text("""
    SELECT bool_and(planned_version_id IS NOT NULL AND next_run_after IS NULL)
      FROM dag WHERE dag_id <> :on_time
""")
_MISSED: Final = text("SELECT count(*) FROM dag_run WHERE dag_id <> :on_time")
_SECONDS: Final = text("""
    SELECT extract(epoch FROM clock_timestamp() - min(created_at))
      FROM dag_run WHERE dag_id <> :on_time
""")

# Those that fell due while the others were created.
_DELAYS: Final = text("""
    SELECT extract(epoch FROM coalesce(started_at, clock_timestamp()) - run_after)
      FROM dag_run
     WHERE dag_id = :on_time
       AND run_after BETWEEN (SELECT min(created_at) FROM dag_run WHERE dag_id <> :on_time)
                         AND (SELECT max(created_at) FROM dag_run WHERE dag_id <> :on_time)
""")


def run() -> Iterator[Row]:
    """Start a scheduler where 100,000 runs are due, and have one DAG run each second meanwhile."""
    seconds, middle, late, latest = [], [], [], []
    with server.running() as postgres:
        for repetition in turns(REPEAT):
            with postgres.database(f"outage_{repetition}") as database:
                store(database.owner, [*_missed(), _on_time()])
                with fleet(database) as services:
                    services.add_scheduler()
                    created_in, delays = _measured(services)
            seconds.append(created_in)
            cuts = quantiles(delays, n=20)
            middle.append(cuts[9])
            late.append(cuts[-1])
            latest.append(max(delays))
    case = f"{DAGS} DAGs x {MISSED:,} missed runs"
    yield Row.at_most(NAME, case, seconds, "s", 60, "until all are created")
    yield Row.of(NAME, case, "start of the runs of another DAG, median", middle, "s")
    yield Row.at_most(NAME, case, late, "s", 1, "the same, 95th percentile")
    yield Row.of(NAME, case, "the same, the latest one", latest, "s")


def _measured(services: Fleet) -> tuple[float, list[float]]:
    names = {"on_time": ON_TIME}

    def created(conn: Connection) -> object:
        return conn.scalar(_CREATED, names)

    services.until(created, "every missed run", every=0.1, patience=PATIENCE)
    with services.database.owner.connect() as conn:
        assert conn.scalar(_MISSED, names) == DAGS * MISSED
        created_in = float(conn.execute(_SECONDS, names).scalar_one())
        return created_in, [float(each) for each in conn.scalars(_DELAYS, names)]


def _missed() -> Iterator[DagSpec]:
    """Return DAGs that were to run each minute until a while ago, and have not."""
    last = datetime(2024, 1, 1, tzinfo=UTC)
    minutely = TimetableSpec(name="delta", arguments={"delta": 60.0, "interval": None})
    for number in range(DAGS):
        yield replace(
            spec(f"missed_{number:03}", [task("work")]),
            timetable=minutely,
            start_date=last - (MISSED - 1) * timedelta(minutes=1),
            end_date=last,
            catchup=True,
        )


def _on_time() -> DagSpec:
    secondly = TimetableSpec(name="delta", arguments={"delta": 1.0, "interval": None})
    plain = spec(ON_TIME, [task("work")])
    return replace(plain, timetable=secondly, start_date=None, end_date=None)
