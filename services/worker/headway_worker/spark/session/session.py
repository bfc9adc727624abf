"""Sessions on a Spark Connect server: one for each attempt, isolated from all others.

This module imports pyspark.  It belongs in the processes of attempts, which are
forked from one that has imported it, and never in the worker's supervisor.
"""

import os
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Final

import grpc
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql.connect.client import DefaultChannelBuilder, SparkConnectClient
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.proto import GetStatusResponse
from pyspark.sql.connect.session import SparkSession

from headway.domain.spark_work import OnHandle
from headway.runtime.daemon.clock import SystemClock
from headway_worker.spark.target.endpoint import ConnectEndpoint
from headway_worker.spark.target.errors import OF_THE_WORKER, SparkError

_PYTHON: Final = "spark.sql.execution.pyspark.python"
"""The program that runs the UDFs of one session."""

_CLOSED: Final = "INVALID_HANDLE.SESSION_CLOSED"
_GOING_ON: Final = (
    GetStatusResponse.OperationStatus.OPERATION_STATE_RUNNING,
    GetStatusResponse.OperationStatus.OPERATION_STATE_TERMINATING,
)
_END_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.02
_CLOCK: Final = SystemClock()

SERVER_IS_GONE: Final = (
    "The Spark Connect server does not answer: it was stopped, killed or ran out of memory. "
    "What the attempt was running there is lost; a retry gets a new server. "
    f"The setting of its memory is {OF_THE_WORKER}."
)


def open_session(
    endpoint: ConnectEndpoint,
    attempt_key: str,
    on_handle: OnHandle,
    conf: Mapping[str, str] = MappingProxyType({}),
) -> SparkSession:
    """Open a new session for an attempt and make it the active one of this process.

    `on_handle` is told of the session before the server is, so whatever comes of
    this process, the session can be found and released.  SparkError when the server
    does not answer, or refuses the token or a property of `conf`.
    """
    session_id, tag = str(uuid.uuid4()), operation_tag(attempt_key)
    handle = {"kind": "connect", "session_id": session_id, "tag": tag, "user": endpoint.user}
    handle |= {"url": endpoint.url, **({"process": endpoint.process} if endpoint.process else {})}
    on_handle(handle)
    # pyspark looks here only, for what `SparkSession.builder` and `functions` are to mean.
    variables = {"SPARK_CONNECT_MODE_ENABLED": "1", "SPARK_REMOTE": endpoint.url}
    os.environ.update(variables)  # noqa: TID251
    spark = SparkSession.builder.channelBuilder(_channel(endpoint, session_id)).create()
    spark.client.set_retry_policies([_brief_retries()])
    spark.addTag(tag)
    try:
        spark.version  # noqa: B018 - the first call makes the server create the session
        own = {_PYTHON: endpoint.python} if endpoint.python else {}
        for name, value in {**own, **conf}.items():
            spark.conf.set(name, value)
        on_handle({**handle, "application_id": spark.conf.get("spark.app.id")})
    except PySparkException as error:
        close_session(spark)
        raise SparkError(explain(error) or f"Cannot open a Spark session: {error}") from error
    return spark


def close_session(spark: SparkSession) -> None:
    """Interrupt what the session still runs, and release it; a dead server is no error."""
    spark.client.set_retry_policies([])
    with suppress(PySparkException, SparkError):
        spark.interruptAll()
        _await_operations(spark.client)
    spark.stop()


def release_session(endpoint: ConnectEndpoint, session_id: str) -> None:
    """End all that a session runs and refuse it from now on, from whatever process.

    A session that the server has not heard of is refused as well, so an attempt that
    was just about to open it cannot.  SparkError unless that is certain.
    """
    client = SparkConnectClient(_channel(endpoint, session_id))
    client.set_retry_policies([_brief_retries()])
    try:
        client.interrupt_all()  # this creates a session that is not there
        _await_operations(client)
        with suppress(PySparkException):  # the next one tells what has come of it
            client.release_session()
        client.interrupt_all()
    except PySparkException as error:
        if _CLOSED in str(error):
            return
        raise SparkError(explain(error) or f"Cannot end Spark session: {error}") from error
    finally:
        client.close()
    raise SparkError(f"Spark session {session_id} was released and still answers.")


def _await_operations(client: SparkConnectClient) -> None:
    """Wait until no operation of the session runs any more; SparkError when one goes on.

    A session that is released while operations are being cancelled is closed with an error
    of Spark's own.  A server or a client that cannot tell of them is not asked.
    """
    statuses = getattr(client, "_get_operation_statuses", None)
    deadline, never = _CLOCK.monotonic() + _END_SECONDS, Event()
    while statuses is not None:
        try:
            found = statuses().operation_statuses
        except PySparkException as error:
            if _CLOSED in str(error):
                raise
            return
        if not any(stage.state in _GOING_ON for stage in found):
            return
        if _CLOCK.monotonic() > deadline:
            raise SparkError("An operation of the Spark session goes on though it was interrupted.")
        _CLOCK.wait(never, _LOOK_SECONDS)


def explain(error: BaseException) -> str | None:
    """Return what to tell a user whose code met this error, when it is about the server."""
    if not isinstance(error, SparkConnectGrpcException):
        return None
    match error.getGrpcStatusCode().name:
        case "UNAVAILABLE":
            return SERVER_IS_GONE
        case "UNAUTHENTICATED":
            return "The Spark Connect server refuses the token that it was given."
    return None


def operation_tag(attempt_key: str) -> str:
    """Return the tag of an attempt's operations; a comma would end it."""
    return "headway-" + attempt_key.replace(",", "_")


def _channel(endpoint: ConnectEndpoint, session_id: str) -> "_Channel":
    # The token is set apart from the URL, which turns up in messages of errors.
    channel = _Channel(endpoint.url, endpoint.ca_file)
    if endpoint.token is not None:
        channel.set(DefaultChannelBuilder.PARAM_TOKEN, endpoint.token)
    channel.set(DefaultChannelBuilder.PARAM_USE_SSL, str(endpoint.tls).lower())
    channel.set(DefaultChannelBuilder.PARAM_SESSION_ID, session_id)
    # A session is known to the server by its id and its user; releasing it needs both.
    channel.set(DefaultChannelBuilder.PARAM_USER_ID, endpoint.user)
    channel.set(DefaultChannelBuilder.PARAM_USER_AGENT, "headway")
    return channel


class _Channel(DefaultChannelBuilder):  # type: ignore[misc]
    """A channel that may trust one authority alone: pyspark has only those of the system."""

    def __init__(self, url: str, ca_file: str | None) -> None:
        super().__init__(url)
        self._ca_file = ca_file

    def toChannel(self) -> grpc.Channel:  # noqa: N802 - it is pyspark's name
        if self._ca_file is None:
            return super().toChannel()
        credentials = grpc.ssl_channel_credentials(Path(self._ca_file).read_bytes())
        if self.token is not None:
            token = grpc.access_token_call_credentials(self.token)
            credentials = grpc.composite_channel_credentials(credentials, token)
        return self._secure_channel(self.endpoint, credentials)


def _brief_retries() -> DefaultPolicy:
    """Give up after three seconds; left to itself, a client tries for ten minutes."""
    return DefaultPolicy(max_retries=5, initial_backoff=100, backoff_multiplier=2, max_backoff=1000)
