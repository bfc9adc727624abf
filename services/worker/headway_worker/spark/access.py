"""What a task asks of Spark, answered lazily: nothing is opened before it is used."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql.connect.session import SparkSession

from headway.sdk.runtime import SparkApplication
from headway_worker.spark.driver import Submission, SubmitSettings
from headway_worker.spark.endpoint import ConnectEndpoint
from headway_worker.spark.handle import OnHandle
from headway_worker.spark.modules import register_user_modules
from headway_worker.spark.server import ConnectServer, ServerSettings
from headway_worker.spark.session import close_session, open_session

_START_SECONDS = 120.0


@dataclass(slots=True, kw_only=True)
class SparkAccess:
    """Spark for one attempt; close it when the attempt ends.

    `endpoint` is called when the task first asks for a session, and may take as long
    as a server needs to start.  `on_handle` is told of each session and application
    before it can do anything.  `bundle_root` is the folder that holds user code.
    """

    endpoint: Callable[[], ConnectEndpoint]
    attempt_key: str
    on_handle: OnHandle
    bundle_root: Path
    submission: SubmitSettings
    _session: SparkSession | None = field(default=None, init=False)

    def spark_session(self) -> SparkSession:
        """Return the attempt's own session, opened at the first call."""
        if self._session is None:
            register_user_modules(self.bundle_root)
            self._session = open_session(self.endpoint(), self.attempt_key, self.on_handle)
        return self._session

    def submit_spark(self, application: SparkApplication) -> None:
        """Run an application with spark-submit and wait for it; SparkError when it fails."""
        sys.stdout.flush()
        output = sys.stdout.buffer
        Submission(self.submission, self.attempt_key, self.on_handle, output).run(application)

    def close(self) -> None:
        """End whatever the session still runs, and the session."""
        if self._session is not None:
            close_session(self._session)
            self._session = None


class LocalSpark:
    """Spark for a process that runs tasks itself: it starts a server of its own when asked."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._server: ConnectServer | None = None

    def access(self, attempt_key: str, bundle_root: Path) -> SparkAccess:
        """Return Spark for one task; close it before the next one."""
        settings = self._settings
        return SparkAccess(
            endpoint=self._endpoint,
            attempt_key=attempt_key,
            on_handle=lambda _handle: None,
            bundle_root=bundle_root,
            submission=SubmitSettings(
                java_home=settings.java_home,
                scratch=settings.scratch / "submit",
                environment=settings.environment,
                master=f"local[{settings.cores}]",
            ),
        )

    def close(self) -> None:
        """Stop the server, if one was started."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _endpoint(self) -> ConnectEndpoint:
        if self._server is None:
            self._server = ConnectServer.start(self._settings)
        return self._server.wait_ready(_START_SECONDS)


@contextmanager
def local_spark(settings: ServerSettings) -> Iterator[LocalSpark]:
    """Give Spark to a process that runs tasks itself; all of it has ended afterwards."""
    with closing(LocalSpark(settings)) as spark:
        yield spark
