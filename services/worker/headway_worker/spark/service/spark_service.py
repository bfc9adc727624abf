"""Spark as the supervisor sees it: servers of its own, and a fork server that has imported pyspark.

They start when a task first needs them, in a thread of their own: they take seconds.
"""

import logging
import os
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Final

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution.attempts import Claimed
from headway.domain.connection import Connection
from headway.domain.errors import EmbeddedError, HeadwayError
from headway.embedded.java import find_java_home
from headway.metrics.worker import SPARK_SESSIONS
from headway.runtime.daemon.clock import Clock, SystemClock
from headway.runtime.daemon.loop import Pace
from headway.runtime.forker import Child, ChildSpec, Forker, ForkerError
from headway.runtime.masking import Masker
from headway.runtime.settings.worker import WorkerSettings
from headway.sdk.running.task_runtime import DEFAULT_SPARK
from headway_worker.database.worker_database import AttemptWork
from headway_worker.spark.figures.event_log import event_log_conf
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings
from headway_worker.spark.server.fleet import ServerFleet
from headway_worker.spark.server.recycling import RecyclingLimits, memory_limit
from headway_worker.spark.server.udf_processes import end_marked
from headway_worker.spark.target.connection import SparkConnection, SparkKind, spark_connection
from headway_worker.spark.target.endpoint import RELEASE, ConnectEndpoint, release_argument
from headway_worker.spark.target.installation import spark_home
from headway_worker.spark.target.target import SparkTarget, target
from headway_worker.supervision.fork_servers import spark_fork_server

log = logging.getLogger(__name__)

_READY_SECONDS: Final = 120.0
_TEND_EVERY: Final = 1.0
_RESTARTING: Final = Pace(retry_first=2.0, retry_longest=30.0)
"""The first pause is many ticks long: whoever waits for the start is told before the next."""


@dataclass(slots=True)
class SparkService:
    """The worker's Spark.  `environment` is what drivers and tasks may see; `folder` is its own."""

    settings: WorkerSettings
    environment: Mapping[str, str]
    folder: Path
    connections: Callable[[Claimed, str], Connection | None]
    clock: Clock = field(default_factory=SystemClock)
    pace: Pace = _RESTARTING
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "spark"))
    _starting: "Future[None] | None" = None
    _tending: "Future[None] | None" = None
    _killing: "Future[None] | None" = None
    _tended_at: float = 0.0
    _forker: Forker | None = None
    _failures: int = 0
    _not_before: float = 0.0
    _fleet: ServerFleet = field(init=False)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _endpoints: dict[AttemptKey, ConnectEndpoint] = field(default_factory=dict)
    _closing: bool = False

    def __post_init__(self) -> None:
        self._fleet = ServerFleet(self._start_server, _limits(self.settings), self.clock)
        SPARK_SESSIONS.read_by(lambda: len(self._endpoints))

    def forker_ready(self) -> bool:
        """Begin to start what tasks need; return whether `forker` would not wait any more.

        What could not start is started again after a pause; until then `forker` says why.
        """
        if self._starting is None or (self._starting.done() and self._may_restart(self._starting)):
            self._starting = self._threads.submit(self._start)
        return self._starting.done()

    def forker(self) -> Forker:
        """Return the fork server, once `forker_ready`; EmbeddedError or ForkerError without one."""
        assert self._starting is not None
        self._starting.result()
        assert self._forker is not None
        return self._forker

    def await_forker(self) -> None:
        """Have the fork server; this may take seconds, and raises what `forker` does."""
        self.forker_ready()
        self.forker()

    def foresee(self, work: AttemptWork) -> None:
        """Begin to start the worker's own server, if an attempt is going to need it."""
        named = work.task.arguments.get("conn_id")
        conn_id = named if isinstance(named, str) else DEFAULT_SPARK
        self._threads.submit(self._warm_up, work.claimed, conn_id)

    def locate(self, claimed: Claimed, conn_id: str, *, for_session: bool) -> SparkTarget:
        """Return where the Spark of a connection is, once its server listens, if it must.

        SecretError when an attempt may not use that connection; EmbeddedError when there is
        no Spark or no Java here, or the server cannot start; SQLAlchemyError while the
        database is away.  An attempt that ends meanwhile must `leave` once this has returned.
        """
        connection = self.connection(claimed, conn_id)
        embedded = (lambda: self._endpoint(claimed.key)) if for_session else None
        where = target(connection, self._java_home, embedded, self.settings.spark_master)
        if for_session and where.endpoint is not None:
            self._endpoints[claimed.key] = where.endpoint
        return where

    def connection(self, claimed: Claimed, conn_id: str) -> SparkConnection:
        """Return where the Spark of a connection is; SecretError if an attempt may not use it."""
        return spark_connection(conn_id, self.connections(claimed, conn_id))

    def is_gone(self, key: AttemptKey) -> bool:
        """Whether the Spark that an attempt was sent to has ended, and all its jobs with it."""
        endpoint = self._endpoints.get(key)
        return endpoint is None or (endpoint.process is not None and self._fleet.of(key) is None)

    def is_own(self, key: AttemptKey) -> bool:
        """Whether an attempt was sent to a server of the worker's own."""
        endpoint = self._endpoints.get(key)
        return endpoint is not None and endpoint.process is not None

    def release(self, key: AttemptKey, session_id: str) -> Child:
        """Begin to end what an attempt has in Spark: exit code 0 tells that it has ended.

        ForkerError or OSError when the process that sees to it cannot be started.
        """
        return self.release_at(self._endpoints[key], session_id)

    def release_at(self, endpoint: ConnectEndpoint, session_id: str) -> Child:
        """Begin to end a session of any server, as `release`."""
        if self._forker is None or not self._forker.alive():
            self.forker_ready()
            raise ForkerError("The fork server for Spark is not there yet.")
        spec = ChildSpec(target=RELEASE, argument=release_argument(endpoint, session_id))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            return self._forker.spawn(spec, nowhere)
        finally:
            os.close(nowhere)

    def kill_server(self, key: AttemptKey) -> None:
        """Kill the worker's own server that an attempt was sent to: it obeys no more.

        This waits for nothing: a thread sees to the server's end, which may take seconds.
        """
        server = self._fleet.of(key)
        if server is None:
            return
        server.kill()
        if self._killing is None or self._killing.done():
            self._killing = self._threads.submit(server.stop, 0)

    def leave(self, key: AttemptKey) -> None:
        """Take note that an attempt has ended, with all that it had in Spark."""
        self._endpoints.pop(key, None)
        self._fleet.leave(key)

    def mask(self, key: AttemptKey, masker: Masker) -> None:
        """Let the log of the worker's own server not show what an attempt on it was given."""
        server = self._fleet.of(key)
        if server is not None:
            server.mask(masker)

    def log_of(self, key: AttemptKey) -> Path | None:
        """Return the folder of the worker's own server that an attempt is on, if it lives."""
        server = self._fleet.of(key)
        return None if server is None else server.scratch

    def hold(self, until: Callable[[AttemptKey], float]) -> None:
        """Let the worker's own servers live as long as the attempts on them may, and a bit longer.

        By half of `kill_grace`: in that time a worker that runs ends the sessions alone.
        """
        longer = self.settings.kill_grace / 2

        def server_until(key: AttemptKey) -> float:
            moment = until(key)
            return moment + longer if moment else 0.0

        self._fleet.hold(server_until)

    def rest(self, key: AttemptKey) -> None:
        """Take note that nothing of an attempt runs any more on its server."""
        self._fleet.rest(key)

    def end_python(self, keys: Collection[AttemptKey]) -> None:
        """Kill what UDFs of attempts whose sessions have ended have left on own servers."""
        servers = {server.pid for key in keys if (server := self._fleet.of(key))}
        if servers:
            end_marked(servers, [_mark(key) for key in keys])

    def logs(self) -> list[Path]:
        """Return the folder of each server of the worker's own."""
        return self._fleet.folders()

    def tend(self) -> None:
        """Look after the servers every now and then; this waits for nothing."""
        if self._fleet.is_empty:
            return
        if self._tending is not None and self._tending.done():
            self._tending.result()
            self._tending = None
        if self._tending is None and self.clock.monotonic() - self._tended_at >= _TEND_EVERY:
            self._tended_at = self.clock.monotonic()
            self._tending = self._threads.submit(self._fleet.tend)

    def close(self) -> None:
        """End the servers and the fork server; whoever waits for them is told so."""
        self._closing = True
        self._fleet.close(grace=1.0)
        self._threads.submit(self._stop).result()
        self._threads.shutdown()

    def _start(self) -> None:
        try:
            spark_home()  # EmbeddedError without pyspark
            if self._is_down():
                self._forker = spark_fork_server(self.settings, self.environment)
        except BaseException:
            self._failures += 1
            self._not_before = self.clock.monotonic() + self.pace.retry_after(self._failures)
            raise
        self._failures = 0

    def _may_restart(self, start: "Future[None]") -> bool:
        """Whether a start is to follow the one that has ended so."""
        if start.exception() is None:
            return self._is_down()
        return self.clock.monotonic() >= self._not_before

    def _warm_up(self, claimed: Claimed, conn_id: str) -> None:
        try:
            if self.connection(claimed, conn_id).kind is SparkKind.EMBEDDED:
                spark_home()
                self._fleet.warm_up()
        except HeadwayError as error:
            # Whoever asks for a session is told; an attempt that needs none goes on.
            log.warning("action=start_spark error=%s", error)

    def _endpoint(self, key: AttemptKey) -> ConnectEndpoint:
        server = self._threads.submit(self._fleet.board, key).result()
        return replace(server.wait_ready(_READY_SECONDS), python=server.python_of(_mark(key)))

    def _start_server(self) -> ConnectServer:
        if self._closing:
            raise EmbeddedError("The worker is stopping; its Spark with it.")
        return ConnectServer.start(self._server_settings())

    def _stop(self) -> None:
        if self._forker is not None:
            self._forker.close()
        self._fleet.close(grace=1.0)

    def _is_down(self) -> bool:
        return self._forker is None or not self._forker.alive()

    def _java_home(self) -> Path:
        return find_java_home(None, self.environment, self.folder)

    def _server_settings(self) -> ServerSettings:
        scratch = self.folder / str(next(self._numbers))
        own = ServerSettings.of(self.settings, self._java_home(), scratch, self.environment)
        return replace(own, conf={**own.conf, **event_log_conf(scratch)})


def _mark(key: AttemptKey) -> str:
    return f"{key.task_instance_id}-{key.attempt}"


def _limits(settings: WorkerSettings) -> RecyclingLimits:
    return RecyclingLimits(
        max_attempts=settings.spark_server_max_attempts,
        memory_bytes=memory_limit(settings.spark_server_memory_bytes, settings.spark_driver_memory),
        idle_timeout=settings.spark_server_idle_timeout,
        answer_timeout=settings.spark_server_answer_timeout,
    )
