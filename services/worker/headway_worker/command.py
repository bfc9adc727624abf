"""`headway worker`: run attempts until told to stop."""

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from headway.db.access import registration
from headway.db.core import processes
from headway.db.core.engine import is_transient
from headway.db.execution import run_names
from headway.domain.arguments import JsonValue
from headway.metrics.process import show_disk
from headway.runtime.daemon import service
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import Clock, SystemClock
from headway.runtime.daemon.loop import Found, Loop, Pace
from headway.runtime.forker import client
from headway.runtime.health import Health, ServicePhase
from headway.runtime.logs.copies import RemoteLogs
from headway.runtime.logs.reading import LocalLogs
from headway.runtime.secrets.scrub import scrubbed_environment
from headway.runtime.settings import configuration, secret_keys
from headway.runtime.settings.logs import LogSettings
from headway.runtime.settings.private_files import repair_modes
from headway.runtime.settings.worker import WorkerSettings
from headway_worker.attempts.launch import AttemptLauncher
from headway_worker.attempts.questions import Questions
from headway_worker.database.code import CodeCache
from headway_worker.database.secret_resolver import SecretResolver
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.logs.attempt_logs import Logs
from headway_worker.logs.retention import Run
from headway_worker.logs.serving import LogPages
from headway_worker.resources import resources
from headway_worker.spark.service.spark_service import SparkService
from headway_worker.supervision.fork_servers import ForkServers, fork_server
from headway_worker.supervision.own_folder import own_folder
from headway_worker.supervision.scratch import ScratchFolders, scratch_of_worker
from headway_worker.worker import Worker, WorkerParts

log = logging.getLogger(__name__)


REPORT_EVERY: Final = 10.0
"""Seconds between two reports of what the machine has left."""


def run(database: str, idle_seconds: float | None = None) -> int:
    """Run a worker on the database at that URL; return its exit status.

    With `idle_seconds` it ends once it has found nothing to do for so long, and the status is
    1 when a task failed for good of those that it has run.
    """
    given = configuration.read(WorkerSettings)
    home = configuration.make_home(configuration.home(), shared=given.forker is not None)
    log_settings = configuration.read(LogSettings)
    repair_modes(home)
    remote = None if log_settings.remote is None else RemoteLogs.at(log_settings.remote)
    secret_keys.check()
    bell, clock = service.stop_on_signals(), SystemClock()
    start = partial(fork_server, given, scrubbed_environment(configuration.environment()))
    # One elsewhere may come later; one of its own takes as long to start as all the rest.
    starting = client.begin(start) if given.forker is None else None
    with (
        _registered(database, bell, given) as process,
        own_folder(home / "spark", process.me.id) as spark,
        scratch_of_worker(home / "scratch", process.me.id) as scratch,
    ):
        logs = Logs.start(log_settings, home, remote, clock, partial(_present, process.engine))
        forkers = ForkServers(start, clock, starting=starting)
        if given.forker is None:
            forkers.warm_up()
        launcher = AttemptLauncher(forkers, given, logs, ScratchFolders(scratch))
        parts = _parts(process, given, home, spark, launcher)
        _trace(process, parts)
        worker = Worker(parts, given, clock)
        with closing(logs), closing(worker):
            process.health.others.append(forkers.check)
            _serve_logs(process, given, logs)
            process.listen(worker.rings)
            _work(worker, process.health, idle_seconds)
            _drain(worker, given, process.health)
    return 1 if idle_seconds is not None and worker.failed else 0


def _serve_logs(process: registration.Registered, given: WorkerSettings, logs: Logs) -> None:
    """Have the API read logs at the HTTP port, if there is one."""
    if not given.http_port:
        return
    process.health.more = LogPages(LocalLogs(logs.folder), secret_keys.keys, SystemClock())
    host = given.http_address or service.host()[0]
    address = f"{f'[{host}]' if ':' in host else host}:{given.http_port}"
    process.tell(lambda conn: processes.serve_http(conn, process.me, address))


def _work(worker: Worker, health: Health, idle_seconds: float | None) -> None:
    """Run attempts until the worker is told to stop, has drained, or was idle for so long."""
    bell = health.bell

    def step() -> Found:
        worker.step()
        if worker.told_to_drain:
            health.phase = ServicePhase.DRAINING
        idle = idle_seconds is not None and worker.idle_for() >= idle_seconds
        if idle or (worker.told_to_drain and worker.drain()):
            bell.stop()
        return Found.MORE  # it waits by itself

    Loop("worker", step, health.clock, is_transient, bell=bell, moved=health.moved).run()


def _registered(
    database: str, bell: Bell, given: WorkerSettings
) -> AbstractContextManager[registration.Registered]:
    return registration.registered(
        "worker",
        database,
        bell,
        connections=max(8, given.slots) + 7,  # one for each thread that asks the database
        capacity=registration.Capacity(given.queues, given.slots),
        http_port=given.http_port,
    )


def _parts(
    process: registration.Registered,
    given: WorkerSettings,
    home: Path,
    spark_folder: Path,
    launcher: AttemptLauncher,
) -> WorkerParts:
    clock = launcher.forkers.clock
    environment = scrubbed_environment(configuration.environment())
    code = CodeCache(home / "cache" / "code")
    show_disk(home)
    look = _reporter(home, clock)
    worker_database = WorkerDatabase(
        process.engine, process.me, given, code, process.notifier.notify, look
    )
    process.show_skew(worker_database.clock)
    resolver = SecretResolver(process.engine, secret_keys.provided_here())
    spark = SparkService(given, environment, spark_folder, resolver.connection)
    questions = Questions(worker_database, resolver, spark, clock, stop=Event())
    # Who hears notices looks by itself only for what may be lost of them.
    pace = Pace(idle=given.poll_interval, first=0.05 if process.wakes else 0.002)
    return WorkerParts(worker_database, questions, spark, launcher, pace)


def _trace(process: registration.Registered, parts: WorkerParts) -> None:
    """Have the attempts traced, if the environment asks for it."""
    if process.traces is not None:
        from headway_worker.attempts.tracing import AttemptTraces

        tracing = AttemptTraces(process.traces, process.engine, parts.database.clock)
        parts.launcher.traced, parts.database.traced = tracing.begin, tracing.end


def _present(engine: Engine, runs: Collection[Run]) -> Collection[Run]:
    """Return which of these runs there are; all of them while the database does not answer."""
    try:
        with engine.connect() as conn:
            return run_names.present(conn, runs)
    except SQLAlchemyError:
        return runs


def _reporter(home: Path, clock: Clock) -> Callable[[], Mapping[str, JsonValue] | None]:
    """Return what tells now and then what the machine has left, and nothing in between."""
    due = clock.monotonic()

    def look() -> Mapping[str, JsonValue] | None:
        nonlocal due
        if clock.monotonic() < due:
            return None
        due = clock.monotonic() + REPORT_EVERY
        return resources(home)

    return look


def _drain(worker: Worker, given: WorkerSettings, health: Health) -> None:
    """Let attempts finish for a while, then hand back those that have not."""
    clock = health.clock
    log.info("action=drain grace=%g", given.drain_grace)
    hand_back = clock.monotonic() + given.drain_grace
    give_up = hand_back + given.kill_grace + given.lease_duration
    while not worker.drain() and clock.monotonic() < give_up:
        if clock.monotonic() >= hand_back:
            worker.hand_back()
        health.moved()
        worker.step()
