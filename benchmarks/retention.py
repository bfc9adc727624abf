"""Rounds of history made and removed beside live schedulers: sizes, locks, and what passes take.

`HEADWAY_BENCH_RETENTION=50000x10` makes ten rounds of 50,000 task instances.
"""

import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Final

from sqlalchemy import Engine, text

from benchmarks.support import bulk_history, server
from benchmarks.support.fleet import Fleet
from benchmarks.support.report import Row
from benchmarks.support.server import Database
from benchmarks.support.shapes import Shape, enter_runs, spec, store, task
from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.db.core import identity, notices, processes
from headway.db.core.notices import NoticeSender
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.database_clock import DatabaseClock
from headway.runtime.processes.parent_death import dies_with_parent
from headway.runtime.settings import configuration
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_scheduler.jobs.scheduler_job import SchedulerJob
from headway_scheduler.replica.replica import Replica

NAME: Final = "retention"
INSTANCES, ROUNDS = (
    int(each) for each in os.environ.get("HEADWAY_BENCH_RETENTION", "1000000x10").split("x")
)
HISTORY: Final = Shape("history", 10, max(INSTANCES // 100, 1), 10)
LOAD: Final = spec("load", [task(f"t{number}") for number in range(20)])
LOAD_EVERY: Final = 0.25
QUIET: Final = 15.0
"""Seconds of each round in which passes are timed without anything being removed."""

STARTING: Final = 2.0
"""Seconds for which a process that starts takes its CPU time: no step is timed then."""

LEAST: Final = 2**20
"""Bytes of the tables whose growth is told: of smaller ones one page more is much."""

_POLICY: Final = {
    "HEADWAY_SCHEDULER_RETENTION_RUNS_DAYS": "1",
    "HEADWAY_SCHEDULER_RETENTION_EVENTS_DAYS": "1",
    "HEADWAY_SCHEDULER_RETENTION_INTERVAL": "1",
}
_NONE: Final = {"HEADWAY_SCHEDULER_RETENTION_PROCESSES_DAYS": "0"}

_SIZES: Final = text("""
    SELECT relname, pg_total_relation_size(oid) AS bytes FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
""")
_LEFT: Final = text("SELECT EXISTS (SELECT FROM dag_run WHERE ended_at < '2000-01-01Z')")
# As if days had passed: what the schedulers have done meanwhile goes as well, but the last runs.
_AGE_EVENTS: Final = text("UPDATE event SET at = at - interval '3 days'")
_DROP_LOAD: Final = text("""
    DELETE FROM dag_run
     WHERE dag_id = 'load' AND ended_at < now() - interval '5 seconds'
       AND id < (SELECT max(id) FROM dag_run WHERE dag_id = 'load')
""")
_LOCKS: Final = text("""
    SELECT pid, relation, mode FROM pg_locks
     WHERE locktype = 'relation' AND granted AND pid <> pg_backend_pid()
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
       AND pid NOT IN (SELECT pid FROM pg_stat_activity WHERE application_name = 'benchmark')
""")


@dataclass(slots=True)
class Watch:
    """How long strong locks are held, as looks five times a second see it."""

    engine: Engine
    longest: float = 0.0
    stop: Event = field(default_factory=Event)

    def run(self) -> None:
        """Look until it is stopped."""
        since: dict[tuple[object, ...], float] = {}
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            while not self.stop.wait(0.2):
                now, seen = time.monotonic(), {tuple(row) for row in conn.execute(_LOCKS)}
                since = {lock: since.get(lock, now) for lock in seen}
                self.longest = max([self.longest, *(now - began for began in since.values())])


@dataclass(slots=True)
class Timed:
    """A scheduler in this process, whose steps are timed by the phase that they fall in."""

    job: SchedulerJob
    phase: str = ""
    steps: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    stop: Event = field(default_factory=Event)

    def run(self) -> None:
        """Step until it is stopped."""
        while not self.stop.is_set():
            began, phase = time.monotonic(), self.phase
            if self.job.step():
                self.steps[phase].append(time.monotonic() - began)
            else:
                self.stop.wait(0.02)

    def p95(self, phase: str) -> float:
        """Return the 95th percentile of the steps of a phase, in milliseconds."""
        return 1e3 * quantiles(self.steps[phase], n=20)[-1]


def run() -> Iterator[Row]:
    """Make and remove history, round by round."""
    with server.running() as postgres, postgres.database("retention") as database:
        dags = store(database.owner, [*HISTORY.specs(), LOAD])
        with _services(database) as (services, timed, watch):
            with database.owner.begin() as conn:  # the latest run of each DAG stays
                enter_runs(conn, dags, range(1))
            sizes, seconds = [], []
            with _load(database.owner, dags["load"]):
                for number in range(ROUNDS):
                    seconds.append(_round(services, timed))
                    sizes.append(_sizes(database.owner))
                    print(f"  round {number + 1}: removed in {seconds[-1]:.0f} s", flush=True)
        yield from _told(timed, watch, sizes, seconds)


def _told(
    timed: Timed, watch: Watch, sizes: list[dict[str, int]], seconds: list[float]
) -> Iterator[Row]:
    case = f"{ROUNDS} rounds of {INSTANCES:,} task instances"
    early = sizes[min(1, ROUNDS - 1)]
    for table, size in sorted(early.items()):
        if size >= LEAST:
            ratio = [sizes[-1][table] / size]
            yield Row.at_most(NAME, case, ratio, "", 1.3, f"size of {table}, against round 2")
    yield Row.at_most(
        NAME, case, [watch.longest], "s", 1, "longest lock above SHARE UPDATE EXCLUSIVE"
    )
    quiet, removing = timed.p95("quiet"), timed.p95("removing")
    yield Row.of(NAME, case, "p95 of a scheduler's step, nothing removed", [quiet], "ms")
    yield Row.at_most(
        NAME, case, [removing / quiet], "", 1.2, "p95 while rows are removed, against that"
    )
    rate = [INSTANCES / each for each in seconds]
    yield Row.of(NAME, case, "task instances removed", rate, "/s", better="higher")


def _round(services: Fleet, timed: Timed) -> float:
    """Make history and have it removed; return how many seconds that took."""
    owner = services.database.owner
    timed.phase = "made"
    with _scheduler(services, _NONE):
        bulk_history.add_history(owner, HISTORY.runs, vacuum=False)
        time.sleep(2)
        timed.phase = "quiet"
        time.sleep(QUIET)
        timed.phase = "made"
    with owner.begin() as conn:
        conn.execute(text("SET LOCAL statement_timeout = 0"))
        conn.execute(_AGE_EVENTS)
        conn.execute(_DROP_LOAD)
    began = time.monotonic()
    with _scheduler(services, _POLICY):
        timed.phase = "removing"
        gone = "the history removed"
        services.until(lambda conn: not conn.scalar(_LEFT), gone, 0.2, 7200.0)
        timed.phase = "made"
    return time.monotonic() - began


def _sizes(owner: Engine) -> dict[str, int]:
    with owner.connect() as conn:
        return {row.relname: row.bytes for row in conn.execute(_SIZES)}


@contextmanager
def _services(database: Database) -> Iterator[tuple[Fleet, Timed, Watch]]:
    url = database.urls[Login.SCHEDULER]
    engine = engines.connect(url, name="headway scheduler")
    watching = engines.connect(
        database.owner.url.render_as_string(hide_password=False), name="benchmark", pool_size=1
    )
    with TemporaryDirectory(prefix="headway-bench-") as folder:
        services = Fleet(database, Path(folder), {"HEADWAY_SCHEDULER_PARALLELISM": "1000000"})
        with engine.begin() as conn:
            me = processes.register(conn, "scheduler", ("bench", os.getpid()), "bench")
        identity.introduce(engine, me)
        given = configuration.read(SchedulerSettings, parallelism=1_000_000)
        notifier = NoticeSender(lambda told: notices.send(engine, told), SystemClock())
        clock = DatabaseClock(SystemClock(), given.max_clock_skew)
        timed = Timed(SchedulerJob(Replica(engine, me, given), clock, notifier))
        watch = Watch(watching)
        notifier.start()
        threads = [Thread(target=each.run, daemon=True) for each in (timed, watch)]
        with closing(notifier):
            services.add_worker()
            for thread in threads:
                thread.start()
            try:
                yield services, timed, watch
            finally:
                timed.stop.set()
                watch.stop.set()
                for thread in threads:
                    thread.join()
                services.stop()
    engine.dispose()
    watching.dispose()


@contextmanager
def _scheduler(services: Fleet, given: dict[str, str]) -> Iterator[None]:
    """Run one more scheduler, with these settings, as a process."""
    environment = {
        **os.environ,
        **services.settings,
        **given,
        "HEADWAY_DATABASE_URL": services.database.urls[Login.SCHEDULER],
        "HEADWAY_HOME": str(services.folder),
    }
    command = dies_with_parent([sys.executable, "-m", "headway.cli", "scheduler"])
    with (services.folder / "second.log").open("ab") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        time.sleep(STARTING)
        assert process.poll() is None, (services.folder / "second.log").read_text()
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@contextmanager
def _load(owner: Engine, version: int) -> Iterator[None]:
    """Enter a run four times a second."""
    stop = Event()

    def enter() -> None:
        hour = 1
        while not stop.wait(LOAD_EVERY):
            with owner.begin() as conn:
                enter_runs(conn, {"load": version}, range(hour, hour + 1))
            notices.send(owner, [notices.SCHEDULER])
            hour += 1

    thread = Thread(target=enter, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
