"""What is counted in the database for metrics: by a thread of its own, never in a pass or a scrape.

It has one connection of its own.  What takes long is measured seldom: between two measurements
ten times as long is waited as the last one took, but a minute at most.  What could not be measured
is not shown, so that the values of another scheduler count.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from headway.db.core import engine as engines
from headway.db.reads import measures, pool_views
from headway.db.scheduling import notifications
from headway.domain.errors import DatabaseError
from headway.metrics import database, scheduler
from headway.metrics.metric import Gauge, Values
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import cause_of
from headway.runtime.settings.scheduler import SchedulerSettings

log = logging.getLogger(__name__)

REST: Final = 10.0
"""Times as long as a measurement took is waited for at least until the next one."""

MOST_REST: Final = 60.0
"""Seconds; HeadwayDatabaseAway counts on it that queues are measured within two minutes."""

OF_QUEUES: Final = (
    scheduler.POOL_SLOTS,
    scheduler.POOL_STARVING,
    scheduler.QUEUE_DEPTH,
    scheduler.OLDEST_ADMISSIBLE,
    scheduler.UNCLAIMED,
    scheduler.OLDEST_UNCLAIMED,
    scheduler.NOTIFICATION_WAIT,
    scheduler.PROCESSES,
)
OF_SERVER: Final = (database.TRANSACTION_ID_AGE, database.OLDEST_TRANSACTION)
OF_TABLES: Final = (
    scheduler.DAG_RUNS,
    scheduler.TASK_INSTANCES,
    database.TABLE_BYTES,
    database.DEAD_ROWS,
    database.VACUUM_AGE,
)


@dataclass(slots=True)
class Measurement:
    """Something that is measured every so many seconds."""

    subject: str
    every: float
    measure: Callable[[Connection], None]
    gauges: Sequence[Gauge]
    """Those that it sets, and that show nothing after it has failed."""

    due_at: float = 0.0


@dataclass(slots=True)
class Measuring:
    """Measure what is due; `run` does so until it is closed."""

    engine: Engine
    clock: Clock
    measurements: list[Measurement]
    _stop: Event = field(default_factory=Event)

    def step(self) -> float:
        """Measure what is due; return the seconds until the next one is."""
        for each in self.measurements:
            began = self.clock.monotonic()
            if began < each.due_at:
                continue
            self._measure(each)
            took = self.clock.monotonic() - began
            scheduler.MEASURING_SECONDS.set(took, each.subject)
            each.due_at = began + max(each.every, took + min(REST * took, MOST_REST))
        return max(
            0.0,
            min(measurement.due_at for measurement in self.measurements) - self.clock.monotonic(),
        )

    def run(self) -> None:
        """Measure until closed."""
        while not self.clock.wait(self._stop, self.step()):
            pass

    def close(self) -> None:
        """Measure no more."""
        self._stop.set()

    def _measure(self, each: Measurement) -> None:
        try:
            with self.engine.begin() as conn:
                each.measure(conn)
        except (DBAPIError, DatabaseError) as error:
            log.warning("action=measure subject=%s failed: %s", each.subject, cause_of(error))
            for gauge in each.gauges:
                gauge.replace({})
        else:
            scheduler.MEASURED_AT.set(self.clock.now().timestamp(), each.subject)


@contextmanager
def measured(url: str, given: SchedulerSettings, clock: Clock) -> Iterator[None]:
    """Measure in a thread for as long as the block lasts, if there is who asks."""
    if not given.http_port:
        yield
        return
    engine = engines.connect(url, name="headway metrics", pool_size=1)
    measuring = Measuring(engine, clock, all_of(given))
    thread = Thread(target=measuring.run, name="measure", daemon=True)
    thread.start()
    try:
        yield
    finally:
        measuring.close()


def all_of(given: SchedulerSettings) -> list[Measurement]:
    """Return what a scheduler measures."""
    threshold = given.scheduler_health_check_threshold
    return [
        Measurement(
            "queues",
            given.pool_metrics_interval,
            lambda conn: measure_queues(conn, threshold),
            OF_QUEUES,
        ),
        Measurement("server", given.table_metrics_interval, measure_server, OF_SERVER),
        Measurement("tables", given.table_metrics_interval, measure_tables, OF_TABLES),
    ]


def measure_queues(conn: Connection, threshold: float) -> None:
    """Measure what waits in pools and queues, and which services are alive."""
    slots: dict[Values, float] = {}
    starving: dict[Values, float] = {}
    for pool in pool_views.pools(conn):
        for state in ("queued", "running", "scheduled", "deferred", "free"):
            slots[pool.name, state] = getattr(pool, state)
        slots[pool.name, "total"] = pool.slots
        starving[pool.name,] = pool.scheduled if pool.free < 1 else 0
    scheduler.POOL_SLOTS.replace(slots)
    scheduler.POOL_STARVING.replace(starving)
    waiting = measures.admissible(conn)
    scheduler.QUEUE_DEPTH.replace({(count.name,): count.number for count in waiting})
    scheduler.OLDEST_ADMISSIBLE.replace(
        {(count.name,): count.oldest for count in waiting}, most=True
    )
    unclaimed = measures.unclaimed(conn)
    scheduler.UNCLAIMED.replace({(count.name,): count.number for count in unclaimed})
    scheduler.OLDEST_UNCLAIMED.replace(
        {(count.name,): count.oldest for count in unclaimed}, most=True
    )
    scheduler.NOTIFICATION_WAIT.set(notifications.oldest_wait(conn))
    alive = measures.alive(conn, threshold)
    kinds = scheduler.PROCESSES.labels[0].values
    scheduler.PROCESSES.replace({(kind,): alive.get(kind, 0) for kind in kinds})


def measure_tables(conn: Connection) -> None:
    """Measure runs and task instances by state, and how large tables are."""
    for gauge, found in (
        (scheduler.DAG_RUNS, measures.runs_by_state(conn)),
        (scheduler.TASK_INSTANCES, measures.tasks_by_state(conn)),
    ):
        states = gauge.labels[0].values
        gauge.replace({(state,): found.get(state, 0) for state in states})
    tables = measures.tables(conn)
    database.TABLE_BYTES.replace({(table.name,): table.size for table in tables})
    database.DEAD_ROWS.replace({(table.name,): table.dead_rows for table in tables})
    ages = {table.name: table.vacuum_age for table in tables if table.vacuum_age is not None}
    database.VACUUM_AGE.replace({(name,): age for name, age in ages.items()}, most=True)


def measure_server(conn: Connection) -> None:
    """Measure how the server of the database stands."""
    server = measures.server(conn)
    database.WAL_BYTES.set_to(server.wal_bytes)
    database.TRANSACTION_ID_AGE.set(server.transaction_id_age)
    if server.oldest_transaction is not None:
        database.OLDEST_TRANSACTION.set(server.oldest_transaction)
