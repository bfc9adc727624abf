"""`headway scheduler`: run one scheduler replica until it is told to stop."""

from headway import daemon
from headway.db.engine import is_transient
from headway.runtime import service, settings
from headway.runtime.clock import SystemClock
from headway.runtime.loop import Loop, Pace
from headway_scheduler.job import SchedulerJob


def run(database: str) -> int:
    """Run a scheduler on the database at that URL; return its exit status."""
    given = settings.read(settings.SchedulerSettings)
    stop = service.stop_on_signals()
    with daemon.registered("scheduler", database) as process:
        job = SchedulerJob(process.engine, process.me, given, SystemClock())
        pace = Pace(idle=given.scheduler_idle_sleep_time)
        Loop("scheduler", job.step, SystemClock(), is_transient, pace, stop).run()
    return 0
