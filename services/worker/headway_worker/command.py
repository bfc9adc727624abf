"""`headway worker`: run attempts until told to stop."""

import logging
from functools import partial
from threading import Event

from headway import __version__
from headway.db import engine as engines
from headway.db import migrate, processes
from headway.domain.errors import FencedError
from headway.runtime import service, settings
from headway.runtime.attempt_logs import logs_folder
from headway.runtime.clock import Clock, SystemClock
from headway.runtime.forker import Forker
from headway.runtime.loop import Loop
from headway.runtime.scrub import scrubbed_environment
from headway.runtime.settings import WorkerSettings
from headway_worker.clerk import Clerk
from headway_worker.code import CodeCache
from headway_worker.launcher import Launcher, Places
from headway_worker.questions import Questions
from headway_worker.spark.service import SparkService
from headway_worker.worker import Means, Worker

log = logging.getLogger(__name__)

PRELOAD = ("headway_worker.child", "headway.sdk.context", "jinja2.sandbox", "pendulum")


def run(database: str) -> int:
    """Run a worker on the database at that URL; return its exit status."""
    given = settings.read(WorkerSettings)
    service.log_to_stderr("worker")
    stop = service.stop_on_signals()
    clock = SystemClock()
    engine = engines.connect(database, name="headway worker", pool_size=given.slots + 4)
    migrate.check(engine)
    with engine.begin() as conn:
        me = processes.register(
            conn, "worker", service.host(), __version__, given.queues, given.slots
        )
    log.info("action=start process=%d slots=%d queues=%s", me.id, given.slots, given.queues)
    home = settings.home()
    environment = scrubbed_environment(settings.environment())
    clerk = Clerk(engine, me, given, CodeCache(home / "cache" / "code"))
    spark = SparkService(given, environment, home / "spark" / str(me.id))
    launcher = Launcher(
        partial(Forker.start, PRELOAD, environment),
        given,
        Places(logs=logs_folder(home), scratch=home / "scratch"),
        clock,
    )
    launcher.warm_up()
    worker = Worker(
        Means(clerk, Questions(clerk, spark, clock, stop=Event()), spark, launcher), given, clock
    )
    try:
        Loop("worker", worker.step, clock, engines.is_transient, stop=stop).run()
        _drain(worker, given, clock)
    except FencedError as error:
        log.error("%s", error)
        return 3
    finally:
        worker.close()
    with engine.begin() as conn:
        processes.leave(conn, me)
    log.info("action=stop process=%d", me.id)
    return 0


def _drain(worker: Worker, given: WorkerSettings, clock: Clock) -> None:
    """Let attempts finish for a while, then hand back those that have not."""
    log.info("action=drain grace=%g", given.drain_grace)
    hand_back = clock.monotonic() + given.drain_grace
    give_up = hand_back + given.kill_grace + given.lease_duration
    while not worker.drain() and clock.monotonic() < give_up:
        if clock.monotonic() >= hand_back:
            worker.hand_back()
        worker.step()
