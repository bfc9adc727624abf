"""`headway scheduler`: run one scheduler replica until it is told to stop.

`headway backfill run`: run the runs of one backfill, and end when they have.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from headway.db.access import registration
from headway.db.access.registration import Capacity, Registered
from headway.db.core.engine import is_transient
from headway.db.core.notices import SCHEDULER
from headway.db.scheduling import schedulers
from headway.runtime.daemon import service
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import Clock, SystemClock
from headway.runtime.daemon.database_clock import DatabaseClock
from headway.runtime.daemon.loop import Found, Loop, Pace
from headway.runtime.settings import configuration
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_scheduler.jobs.backfill_job import BackfillJob
from headway_scheduler.jobs.retention_thread import RetentionState
from headway_scheduler.jobs.scheduler_job import SchedulerJob
from headway_scheduler.jobs.table_metrics import measured
from headway_scheduler.replica.replica import Replica
from headway_scheduler.replica.tracing import Traced, Tracing, Untraced

log = logging.getLogger(__name__)

FIRST_WITH_NOTICES = 0.1
"""Seconds of the first wait in vain, where a notice ends it as soon as there is work."""


CONNECTIONS: Final = 6
"""Those of every service, and one of the thread that removes what is old."""


def run(database: str) -> int:
    """Run a scheduler on the database at that URL; return its exit status."""
    given = configuration.read(SchedulerSettings)
    bell, clock = service.stop_on_signals(), DatabaseClock(SystemClock(), given.max_clock_skew)
    capacity, port = Capacity(slots=given.parallelism), given.http_port
    with registration.registered(
        "scheduler", database, bell, connections=CONNECTIONS, capacity=capacity, http_port=port
    ) as process:
        process.show_skew(clock)
        alone = not given.use_row_level_locking
        refused = process.tell(lambda conn: schedulers.join(conn, process.me, alone=alone))
        if refused is not None:
            raise refused
        replica = Replica(process.engine, process.me, given, tracing=_tracing(process))
        job = SchedulerJob(replica, clock, process.notifier)
        retention = RetentionState(replica, SystemClock())
        retention.show()
        url = process.engine.url.render_as_string(hide_password=False)
        with retention.running(), measured(url, given, clock.own):
            _loop(process, given, Bounded(job.step, given, clock, bell).step, bell)
    return 0


def run_backfill(database: str, backfill_id: int) -> int:
    """Run what is left of a backfill in this process; return 1 unless all of it went well."""
    given = configuration.read(SchedulerSettings)
    bell, clock = service.stop_on_signals(), DatabaseClock(SystemClock(), given.max_clock_skew)
    capacity = Capacity(slots=given.parallelism)
    with registration.registered("backfill", database, bell, capacity=capacity) as process:
        tracing = _tracing(process)
        replica = Replica(process.engine, process.me, given, own_alone=True, tracing=tracing)
        job = BackfillJob(replica, clock, process.notifier, backfill_id=backfill_id)
        reserved = job.submit_backfill()
        log.info("action=reserve backfill=%d runs=%d", backfill_id, len(reserved))

        def step() -> Found:
            found = job.step()
            if not found and job.has_ended():
                bell.stop()
            return found

        _loop(process, given, step, bell)
        state = job.progress().state
    log.info("action=end backfill=%d state=%s", backfill_id, state)
    return 0 if state == "success" else 1


@dataclass(slots=True)
class Bounded:
    """A step that stops its loop after `num_runs` steps, or after `run_duration` seconds."""

    call: Callable[[], Found]
    settings: SchedulerSettings
    clock: Clock
    bell: Bell
    _steps: int = 0
    _began: float | None = None

    def step(self) -> Found:
        """Do one step; return what it found."""
        if self._began is None:
            self._began = self.clock.monotonic()
        found = self.call()
        self._steps += 1
        elapsed = self.clock.monotonic() - self._began
        if 0 < self.settings.num_runs <= self._steps or 0 < self.settings.run_duration <= elapsed:
            log.info("action=bound steps=%d seconds=%.1f", self._steps, elapsed)
            self.bell.stop()
        return found


def _tracing(process: Registered) -> Tracing:
    return Untraced() if process.traces is None else Traced(process.traces, process.engine)


def _loop(
    process: Registered, given: SchedulerSettings, step: Callable[[], Found], bell: Bell
) -> None:
    process.listen({SCHEDULER: bell.ring})
    pace = Pace(idle=given.scheduler_idle_sleep_time)
    if process.wakes:
        pace = replace(pace, first=FIRST_WITH_NOTICES)
    moved = process.health.moved
    Loop("scheduler", step, SystemClock(), is_transient, pace, bell, moved=moved).run()
