"""Spark as the supervisor sees it: a warm server, and a fork server that has imported pyspark.

Both start when a task first needs them, in a thread of their own that lives as long
as the worker: they take seconds, and they end with the thread that started them.
"""

import logging
import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.domain.errors import EmbeddedError
from headway.embedded.java import find_java_home
from headway.runtime.forker import Child, ChildSpec, Forker, ForkerError
from headway.runtime.frames import Frame
from headway.runtime.settings import WorkerSettings
from headway_worker.spark.installation import spark_home
from headway_worker.spark.server import ConnectServer, ServerSettings

log = logging.getLogger(__name__)

PRELOAD: Final = (
    "headway_worker.child",
    "headway.sdk.context",
    "jinja2.sandbox",
    "pendulum",
    "headway_worker.spark.preload",
)
_READY_SECONDS: Final = 120.0
_RELEASE: Final = "headway_worker.spark.release:release"


@dataclass(slots=True)
class SparkService:
    """The worker's Spark.  `environment` is what drivers and tasks may see; `folder` is its own."""

    settings: WorkerSettings
    environment: Mapping[str, str]
    folder: Path
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "spark"))
    _starting: "Future[None] | None" = None
    _forker: Forker | None = None
    _server: ConnectServer | None = None
    _closing: bool = False

    def forker_ready(self) -> bool:
        """Begin to start what tasks need; return whether `forker` would not wait any more."""
        if self._starting is None or (self._starting.done() and self._is_down()):
            self._starting = self._threads.submit(self._start)
        return self._starting.done()

    def forker(self) -> Forker:
        """Return the fork server, once `forker_ready`; EmbeddedError or ForkerError without one."""
        assert self._starting is not None
        self._starting.result()
        assert self._forker is not None
        return self._forker

    def describe(self, *, with_server: bool) -> Frame:
        """Return what an attempt must know to use Spark, once the server listens, if it must.

        EmbeddedError when there is no Spark or no Java here, or the server cannot start.
        """
        return self._threads.submit(self._describe, with_server).result()

    def release(self, session_id: str) -> list[Child]:
        """End what a killed attempt left in Spark: return the process that sees to it, if any."""
        if self._forker is None or self._server is None:
            return []
        try:
            endpoint = self._server.endpoint
        except (EmbeddedError, OSError):
            return []  # its jobs died with the server
        if endpoint is None:
            return []
        spec = ChildSpec(
            target=_RELEASE, argument={"endpoint": endpoint.to_frame(), "session_id": session_id}
        )
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            return [self._forker.spawn(spec, nowhere)]
        except (ForkerError, OSError):
            log.exception("action=release session=%s", session_id)
            return []
        finally:
            os.close(nowhere)

    def close(self) -> None:
        """End the server and the fork server; whoever waits for them is told so."""
        self._closing = True
        if self._server is not None:
            self._server.stop(grace=1.0)
        self._threads.submit(self._stop).result()
        self._threads.shutdown()

    def _start(self) -> None:
        spark_home()  # EmbeddedError without pyspark
        try:
            self._live_server()
        except EmbeddedError as error:
            # Whoever asks for a session is told; an attempt that needs none goes on.
            log.warning("action=start_spark error=%s", error)
        if self._forker is None or not self._forker.alive():
            self._forker = Forker.start(PRELOAD, self.environment)

    def _describe(self, with_server: bool) -> Frame:
        answer: Frame = {
            "java_home": str(self._java_home()),
            "master": self.settings.spark_master,
            "driver_memory": self.settings.spark_driver_memory,
            "endpoint": None,
        }
        if with_server:
            answer["endpoint"] = self._live_server().wait_ready(_READY_SECONDS).to_frame()
        return answer

    def _live_server(self) -> ConnectServer:
        if self._closing:
            raise EmbeddedError("The worker is stopping; its Spark with it.")
        if self._server is None or not self._server.is_alive():
            self._server = ConnectServer.start(self._server_settings())
        return self._server

    def _stop(self) -> None:
        if self._forker is not None:
            self._forker.close()
        if self._server is not None:
            self._server.stop(grace=1.0)

    def _is_down(self) -> bool:
        return self._forker is None or not self._forker.alive()

    def _java_home(self) -> Path:
        return find_java_home(None, self.environment, self.folder)

    def _server_settings(self) -> ServerSettings:
        return ServerSettings(
            java_home=self._java_home(),
            scratch=self.folder,
            environment=self.environment,
            driver_memory=self.settings.spark_driver_memory,
            java_options=tuple(self.settings.spark_java_options.split()),
            cores=_local_cores(self.settings.spark_master),
        )


def _local_cores(master: str) -> int:
    inside = master.partition("[")[2].removesuffix("]")
    return int(inside) if inside.isdigit() else os.cpu_count() or 1
