"""Thousands of DAGs due in the same minute: how fast their runs are created, and who waits."""

import re
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import mean, median
from typing import Final

from sqlalchemy import text

from benchmarks.support import server
from benchmarks.support.real_services import RealServices, real_services
from benchmarks.support.report import Row
from benchmarks.support.server import Server
from benchmarks.support.turns import turns

NAME: Final = "storm"
SIZES: Final = (1000, 5000, 10_000, 20_000)
JUDGED: Final = 10_000
FILES: Final = 100
SLOTS: Final = 8
AFTERWARDS: Final = 20.0
"""Seconds for which the worker's slots are watched once all runs are created."""

EVERY: Final = 0.1
PATIENCE: Final = 300.0
URGENT: Final = "urgent"
BUSY: Final = "busy"
BUSY_TASKS: Final = 1000
BUSY_BEFORE: Final = 3.0
"""Seconds before a storm at which the worker gets tasks that keep it busy for longer than that."""

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

BUSILY: Final = f"""
import pendulum
from headway.sdk import DAG, task

with DAG("{BUSY}", schedule=None, start_date=pendulum.datetime(2024, 1, 1, tz="UTC"),
         max_active_tasks={BUSY_TASKS}):
    @task
    def nothing(number):
        pass

    nothing.expand(number=list(range({BUSY_TASKS})))
"""

# Each look is at the head of an index: a look at all runs would be load of its own.
_SAMPLE: Final = text("""
    SELECT clock_timestamp() AS at,
           (SELECT count(*) FROM task_attempt WHERE ended_at IS NULL AND phase <> 'queued') AS held,
           EXISTS (SELECT FROM dag
                    WHERE active AND NOT paused AND next_run_after <= :minute
                      AND dag_id <> :urgent) AS due,
           EXISTS (SELECT FROM task_attempt WHERE phase = 'queued')
           OR EXISTS (SELECT FROM task_instance WHERE state = 'scheduled' AND NOT limited)
               AS admissible
""")
_CREATED: Final = text("""
    SELECT count(*) FROM dag_run WHERE run_type = 'scheduled' AND dag_id <> :urgent
""")
_FIRST: Final = text("""
    SELECT min(created_at) FROM dag_run WHERE run_type = 'scheduled' AND dag_id <> :urgent
""")
_STARTED: Final = text("""
    SELECT CASE WHEN bool_and(started_at IS NOT NULL) THEN max(started_at) END
      FROM dag_run WHERE run_type = 'scheduled' AND dag_id <> :urgent
""")
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
_STARTED_OR_ENDED: Final = re.compile(r"(\S+) INFO +worker +action=(start|end) ")


@dataclass(slots=True)
class Watched:
    """What was seen of one storm that was due at `minute`; times are the database's.

    `first` is when its first run was created, `last` when all were, `started` when all had
    started, `until` when the watch ended.
    Of each moment at which something was admissible `held` says how many slots were held, by
    attempts that were claimed and not reported, and `running` how many had a process.
    """

    minute: datetime
    first: datetime
    last: datetime
    started: datetime
    until: datetime
    ended: int
    held: Sequence[int]
    running: Sequence[int]
    delays: Sequence[float]

    @property
    def seconds(self) -> float:
        """How long after the minute all runs were there."""
        return (self.last - self.minute).total_seconds()

    @property
    def taking_in(self) -> float:
        """For how many seconds runs were being created and started.

        A scheduler starts what it has created before it creates more, so the time until the last
        run is created holds all starts of a large storm, and half of those of a small one.
        """
        return (self.started - self.first).total_seconds()

    @property
    def busy(self) -> float:
        """The share of slots that were held: each moment has a sample of each slot."""
        return mean(min(busy, SLOTS) for busy in self.held) / SLOTS

    @property
    def full(self) -> float:
        """The share of moments at which all slots were held."""
        return mean(busy >= SLOTS for busy in self.held)

    @property
    def rate(self) -> float:
        """How many tasks ended in a second."""
        return self.ended / (self.until - self.first).total_seconds()


def run() -> Iterator[Row]:
    """Have storms of each size; the cost of a run is held against that in the smallest one."""
    costs: dict[int, float] = {}
    with server.running() as postgres:
        for size in SIZES:
            storms = [_storm(postgres, size) for _ in turns(1)]
            costs[size] = median(1e3 * storm.taking_in / size for storm in storms)
            yield from _rows(size, storms, costs)


def _rows(size: int, storms: Sequence[Watched], costs: Mapping[int, float]) -> Iterator[Row]:
    case = f"{size:,} DAGs due in one minute"
    metric, seconds = "until all runs are created", [storm.seconds for storm in storms]
    if size == JUDGED:
        yield Row.at_most(NAME, case, seconds, "s", 15, metric)
    else:
        yield Row.of(NAME, case, metric, seconds, "s")
    each = [1e3 * storm.taking_in / size for storm in storms]
    yield Row.of(NAME, case, "creation and start, for each run", each, "ms")
    if size > SIZES[0]:
        ratio = costs[size] / costs[SIZES[0]]
        metric = f"creation and start of a run, against {SIZES[0]:,} DAGs"
        yield Row.at_most(NAME, case, [ratio], "", 1.3, metric)
    yield Row.at_least(NAME, case, [storm.busy for storm in storms], "", 0.9, "slots that are busy")
    metric, full = "moments at which all slots are busy", [storm.full for storm in storms]
    yield Row.of(NAME, case, metric, full, "", better="higher")
    metric = "latest start of a task of high priority"
    yield Row.at_most(NAME, case, [max(storm.delays) for storm in storms], "s", 2, metric)
    metric, used = "slots with a process", [mean(storm.running) for storm in storms]
    yield Row.of(NAME, case, metric, used, "slots", better="higher")
    rates = [storm.rate for storm in storms]
    yield Row.of(NAME, case, "tasks meanwhile", rates, "tasks/s", better="higher")


def _storm(postgres: Server, size: int) -> Watched:
    with (
        postgres.database(f"{NAME}_{size}") as database,
        real_services(database) as services,
    ):
        minute = _write(services, size)
        for service in ("parser", "scheduler", "worker"):
            services.start(service)
        services.settle(size + 2, patience=PATIENCE)
        services.run(BUSY, "first")  # the code is fetched, the statements prepared
        time.sleep(max((minute - datetime.now(UTC)).total_seconds() - BUSY_BEFORE, 0))
        services.trigger(BUSY, "second")
        return _watched(services, size, minute)


def _write(services: RealServices, size: int) -> datetime:
    """Write DAG files that are due in the first minute by which all of them are parsed."""
    due = datetime.now(UTC) + timedelta(seconds=60 + size / 150)
    due = due.replace(second=0, microsecond=0) + timedelta(minutes=1)
    cron, each = f"{due.minute} {due.hour} * * *", size // FILES
    for number in range(FILES):
        first = number * each
        source = STORM.format(first=first, last=first + each, cron=cron)
        (services.files / f"storm_{number:03}.py").write_text(source)
    (services.files / f"{URGENT}.py").write_text(URGENTLY)
    (services.files / f"{BUSY}.py").write_text(BUSILY)
    return due


def _watched(services: RealServices, size: int, minute: datetime) -> Watched:
    """Look until all runs are created and for a while longer, or until all tasks have ended."""
    moments: list[datetime] = []
    held: list[int] = []
    deadline, last = time.monotonic() + PATIENCE, None
    names = {**_NAMES, "minute": minute}
    with services.database.owner.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        if conn.execute(_CREATED, _NAMES).scalar_one():
            raise RuntimeError(f"the storm came before all {size} DAGs were planned")
        while True:
            row = conn.execute(_SAMPLE, names).one()
            if row.at >= minute and row.admissible:
                moments.append(row.at)
                held.append(row.held)
            if last is None and row.at >= minute and not row.due:
                last = row.at
            if last and (not row.admissible or (row.at - last).total_seconds() > AFTERWARDS):
                break
            if time.monotonic() > deadline:
                raise RuntimeError(f"not reached: {size} runs")
            time.sleep(EVERY)
        created, first = conn.scalar(_CREATED, _NAMES), conn.scalar(_FIRST, _NAMES)
        started = conn.scalar(_STARTED, _NAMES)
        if created != size or started is None:
            raise RuntimeError(f"{created} runs were created and started, and not {size}")
        span = {**_NAMES, "first": first, "last": row.at}
        ended = conn.execute(_ENDED, span).scalar_one()
        delays = [float(each) for each in conn.scalars(_DELAYS, span)]
    running = _running(services, moments)
    return Watched(minute, first, last, started, row.at, ended, held, running, delays)


def _running(services: RealServices, moments: Sequence[datetime]) -> list[int]:
    """Return how many attempts ran at each of these moments, by the worker's log."""
    log = (services.folder / "worker.log").read_text()
    running, steps, found = 0, deque[tuple[datetime, int]](), []
    for at, action in _STARTED_OR_ENDED.findall(log):
        steps.append((datetime.fromisoformat(at), 1 if action == "start" else -1))
    for moment in moments:
        while steps and steps[0][0] <= moment:
            running += steps.popleft()[1]
        found.append(running)
    return found
