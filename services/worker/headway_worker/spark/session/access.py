"""What a task asks of Spark, answered lazily: nothing is opened before it is used."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from headway.domain.connection import Connection
from headway.domain.spark_work import OnHandle, SparkFigures, SparkProgress
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.processes.starting import uninterrupted
from headway.sdk.bundle.bundle_code import BundleCode
from headway.sdk.exceptions import RefusedException
from headway.sdk.running.task_runtime import SparkApplication
from headway_worker.spark.cluster.app_outcome import PriorApp
from headway_worker.spark.cluster.cluster_queries import ClusterToolsByKind
from headway_worker.spark.cluster.cluster_run import PATIENCE, PATIENCE_OF_ENDING, RemoteRun
from headway_worker.spark.cluster.submission import Submission, SubmitSettings
from headway_worker.spark.cluster.submit_command import completed
from headway_worker.spark.figures.progress import ProgressMeter
from headway_worker.spark.figures.watch import DriverWatch, DriverWatcher
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings
from headway_worker.spark.session.modules import send_bundle
from headway_worker.spark.session.own_driver import (
    close_driver,
    explain_driver,
    open_driver,
    watch_driver,
)
from headway_worker.spark.session.session import SERVER_IS_GONE, close_session, open_session
from headway_worker.spark.target.connection import SparkConnection, spark_connection
from headway_worker.spark.target.endpoint import ConnectEndpoint
from headway_worker.spark.target.errors import SparkError
from headway_worker.spark.target.target import Locate, SparkTarget, target

AnySession: TypeAlias = SparkSession | ConnectSession

_START_SECONDS = 120.0


@dataclass(slots=True, kw_only=True)
class SparkAccess:
    """Spark for one attempt; close it when the attempt ends.

    `locate` is called when the task first asks for a session, and may take as long as a
    server needs to start.  `on_handle` is told of each session and application before it
    can do anything.  `title` names its applications.  `code` is the version's;
    `scratch` is the attempt's own, and `environment` is what its drivers may see.
    `prior` returns the handle of the last earlier attempt that may have left an application on
    a cluster: to end that is all that is done for an attempt that was `called_off` before it
    began.
    """

    locate: Locate
    attempt_key: str
    on_handle: OnHandle
    code: BundleCode
    scratch: Path
    environment: Mapping[str, str]
    prior: Callable[[], PriorApp | None]
    title: str = "headway"
    called_off: bool = False
    on_progress: Callable[[SparkProgress], None] = lambda _progress: None
    on_figures: Callable[[SparkFigures], None] = lambda _figures: None
    _session: AnySession | None = field(default=None, init=False)
    _watch: DriverWatch = field(init=False)

    def __post_init__(self) -> None:
        self._watch = DriverWatch(DriverWatcher(self.on_progress, self.on_figures))

    def spark_session(self, conn_id: str) -> AnySession:
        """Return the attempt's own session, opened at the first call.

        On a cluster that is the session of a driver of its own.
        """
        if self._session is None:
            self._refuse_if_called_off()
            where = self.locate(conn_id, True)
            if where.endpoint is None:
                return self._open_driver(where)
            session = open_session(
                where.endpoint, self.attempt_key, self._keeping(where), where.connection.conf
            )
            self._session = session
            send_bundle(session, self.code, self.scratch)
            session.registerProgressHandler(ProgressMeter(self.on_progress, SystemClock()))
        return self._session

    def spark_driver(self, conn_id: str) -> AnySession:
        """Return the session of a driver of the attempt's own, started at the first call."""
        self._refuse_if_called_off()
        return self._session or self._open_driver(self.locate(conn_id, False))

    def submit_spark(self, application: SparkApplication) -> None:
        """Run an application with spark-submit and wait for it; SparkError when it fails."""
        where = self.locate(application.conn_id, False)
        sys.stdout.flush()
        settings = self._submit_settings(where)
        application = completed(application, where.connection)
        submission = Submission(
            settings,
            self.attempt_key,
            self._keeping(where),
            sys.stdout.buffer,
            DriverWatcher(self.on_progress, self.on_figures),
        )
        RemoteRun(
            submission=submission,
            cluster=ClusterToolsByKind(settings, application),
            prior=self.prior,
            say=say,
            clock=SystemClock(),
            called_off=self.called_off,
            patience=PATIENCE_OF_ENDING if self.called_off else PATIENCE,
        ).run(application)

    def explain(self, error: str) -> str | None:
        """Return what to tell a user instead of this error, when the server or driver has gone."""
        if self._session is None:
            return None
        if isinstance(self._session, ConnectSession):
            return SERVER_IS_GONE if "StatusCode.UNAVAILABLE" in error else None
        return explain_driver(error)

    def close(self) -> None:
        """End whatever the session still runs, and the session."""
        session, self._session = self._session, None
        if isinstance(session, ConnectSession):
            close_session(session)
        elif session is not None:
            close_driver(session, self._watch)

    def _refuse_if_called_off(self) -> None:
        if self.called_off:
            raise SparkError("The attempt was told to stop before it began: it gets no Spark.")

    def _keeping(self, where: SparkTarget) -> OnHandle:
        """Return what keeps a handle, together with the name of its connection."""
        conn_id = where.connection.conn_id
        return lambda handle: self.on_handle({**handle, "conn_id": conn_id})

    def _open_driver(self, where: SparkTarget) -> AnySession:
        settings = self._submit_settings(where)
        self._session = session = open_driver(settings, self.attempt_key, self._keeping(where))
        send_bundle(session, self.code, self.scratch)
        watch_driver(session, self._watch)
        return session

    def _submit_settings(self, where: SparkTarget) -> SubmitSettings:
        if where.java_home is None:
            raise RefusedException(_no_submission(where.connection))
        return SubmitSettings(
            java_home=where.java_home,
            scratch=self.scratch,
            environment=self.environment,
            connection=where.connection,
            master=where.connection.master or where.master,
            title=self.title,
        )


Connections: TypeAlias = Callable[[str], Connection | None]
"""Returns the connection of that name, None if there is none."""


class LocalSpark:
    """Spark for a process that runs tasks itself: it starts a server of its own when asked."""

    def __init__(self, settings: ServerSettings, connections: Connections) -> None:
        self._settings = settings
        self._connections = connections
        self._server: ConnectServer | None = None

    def access(self, attempt_key: str, code: BundleCode) -> SparkAccess:
        """Return Spark for one task; close it before the next one."""
        settings = self._settings
        return SparkAccess(
            locate=self._locate,
            attempt_key=attempt_key,
            on_handle=lambda _handle: None,
            code=code,
            scratch=settings.scratch / "submit",
            environment=settings.environment,
            prior=lambda: None,
        )

    def close(self) -> None:
        """Stop the server, if one was started."""
        if self._server is not None:
            self._server.stop()
            self._server = None

    def _locate(self, conn_id: str, for_session: bool) -> SparkTarget:
        connection = spark_connection(conn_id, self._connections(conn_id))
        return target(
            connection,
            lambda: self._settings.java_home,
            self._endpoint if for_session else None,
            self._settings.master,
        )

    def _endpoint(self) -> ConnectEndpoint:
        if self._server is None:
            with uninterrupted():
                self._server = ConnectServer.start(self._settings)
        return self._server.wait_ready(_START_SECONDS)


@contextmanager
def local_spark(settings: ServerSettings, connections: Connections) -> Iterator[LocalSpark]:
    """Give Spark to a process that runs tasks itself; all of it has ended afterwards."""
    with closing(LocalSpark(settings, connections)) as spark:
        yield spark


def say(line: str) -> None:
    """Add a line of Headway's to the task's log."""
    print(f"[headway] {line}", flush=True)  # noqa: T201 - it belongs into the task's log


def _no_submission(connection: SparkConnection) -> str:
    return (
        f"The Spark connection {connection.conn_id!r} is of a Connect server ({connection.url}), "
        "which has no place for a driver of the task's own, nor for an application. Name the "
        "connection of a cluster, or use the server with a plain @task.pyspark."
    )
