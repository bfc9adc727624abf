"""`headway worker`: run attempts until told to stop."""

import logging
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Event

from headway import daemon
from headway.db.engine import is_transient
from headway.runtime import service, settings
from headway.runtime.attempt_logs import logs_folder
from headway.runtime.clock import Clock, SystemClock
from headway.runtime.forker import Forker
from headway.runtime.loop import Loop, Pace
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
    given, home = settings.read(WorkerSettings), settings.make_home(settings.home())
    bell = service.stop_on_signals()
    clock = SystemClock()
    connections = max(8, given.slots) + 4  # one for each thread that asks the database
    with daemon.registered(
        "worker", database, connections=connections, queues=given.queues, slots=given.slots
    ) as process:
        worker = Worker(_means(process, given, home, clock), given, clock)
        with closing(worker):
            process.listen(worker.rings)
            Loop("worker", worker.step, clock, is_transient, bell=bell).run()
            _drain(worker, given, clock)
    return 0


def _means(process: daemon.Registered, given: WorkerSettings, home: Path, clock: Clock) -> Means:
    environment = scrubbed_environment(settings.environment())
    code = CodeCache(home / "cache" / "code")
    clerk = Clerk(process.engine, process.me, given, code, process.notifier.notify)
    spark = SparkService(given, environment, home / "spark" / str(process.me.id))
    launcher = Launcher(
        partial(Forker.start, PRELOAD, environment),
        given,
        Places(logs=logs_folder(home), scratch=home / "scratch"),
        clock,
    )
    launcher.warm_up()
    questions = Questions(clerk, spark, clock, stop=Event())
    # Who hears notices looks by itself only for what may be lost of them.
    pace = Pace(idle=given.poll_interval, first=0.05 if process.wakes else 0.002)
    return Means(clerk, questions, spark, launcher, pace)


def _drain(worker: Worker, given: WorkerSettings, clock: Clock) -> None:
    """Let attempts finish for a while, then hand back those that have not."""
    log.info("action=drain grace=%g", given.drain_grace)
    hand_back = clock.monotonic() + given.drain_grace
    give_up = hand_back + given.kill_grace + given.lease_duration
    while not worker.drain() and clock.monotonic() < give_up:
        if clock.monotonic() >= hand_back:
            worker.hand_back()
        worker.step()
