"""`headway scheduler`: run one scheduler replica until it is told to stop."""

import logging

from headway import __version__
from headway.db import engine as engines
from headway.db import migrate, processes
from headway.domain.errors import FencedError
from headway.runtime import service, settings
from headway.runtime.clock import SystemClock
from headway.runtime.loop import Loop, Pace
from headway_scheduler.job import SchedulerJob

log = logging.getLogger(__name__)


def run(database: str) -> int:
    """Run a scheduler on the database at that URL; return its exit status."""
    given = settings.read(settings.SchedulerSettings)
    service.log_to_stderr("scheduler")
    stop = service.stop_on_signals()
    engine = engines.connect(database, name="headway scheduler")
    migrate.check(engine)
    with engine.begin() as conn:
        me = processes.register(conn, "scheduler", service.host(), __version__)
    log.info("action=start process=%d", me.id)
    job = SchedulerJob(engine, me, given, SystemClock())
    pace = Pace(idle=given.scheduler_idle_sleep_time)
    try:
        Loop("scheduler", job.step, SystemClock(), engines.is_transient, pace, stop).run()
    except FencedError as error:
        log.error("%s", error)
        return 3
    with engine.begin() as conn:
        processes.leave(conn, me)
    log.info("action=stop process=%d", me.id)
    return 0
