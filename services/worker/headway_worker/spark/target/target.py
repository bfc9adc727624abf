"""What an attempt must know to get at the Spark of a connection."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from headway.runtime.processes.frames import Frame
from headway_worker.spark.target.connection import SparkConnection, SparkKind
from headway_worker.spark.target.endpoint import ConnectEndpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkTarget:
    """The connection, and what of this worker goes with it.

    `endpoint` is there for whoever asked for a session.  `java_home` is there unless the
    Spark is all elsewhere, and `master` is the worker's own, for an embedded connection.
    """

    connection: SparkConnection
    master: str
    java_home: Path | None = None
    endpoint: ConnectEndpoint | None = None

    def to_frame(self) -> Frame:
        """Return this as plain data; secrets of the connection are part of it."""
        return {
            "connection": self.connection.to_frame(),
            "master": self.master,
            "java_home": None if self.java_home is None else str(self.java_home),
            "endpoint": None if self.endpoint is None else self.endpoint.to_frame(),
        }

    def secrets(self) -> frozenset[str]:
        """Return what must be masked wherever the attempt shows it."""
        token = None if self.endpoint is None else self.endpoint.token
        return self.connection.secrets() | ({token} if token else frozenset())

    @classmethod
    def from_frame(cls, frame: Frame) -> "SparkTarget":
        """Return what `to_frame` made the data of."""
        java_home, endpoint = frame["java_home"], frame["endpoint"]
        return cls(
            connection=SparkConnection.from_frame(frame["connection"]),
            master=frame["master"],
            java_home=None if java_home is None else Path(java_home),
            endpoint=None if endpoint is None else ConnectEndpoint.from_frame(endpoint),
        )


def target(
    connection: SparkConnection,
    java_home: Callable[[], Path],
    embedded: Callable[[], ConnectEndpoint] | None,
    master: str,
) -> SparkTarget:
    """Return where the Spark of a connection is; EmbeddedError when the worker's own is not.

    `embedded` says where the worker's own server listens, for whoever wants a session.
    """
    if connection.kind is SparkKind.CONNECT:
        endpoint = ConnectEndpoint.of(connection)
        return SparkTarget(connection=connection, master=master, endpoint=endpoint)
    own = connection.kind is SparkKind.EMBEDDED and embedded is not None
    return SparkTarget(
        connection=connection,
        master=master,
        java_home=java_home(),
        endpoint=embedded() if own and embedded else None,
    )


Locate: TypeAlias = Callable[[str, bool], SparkTarget]
"""Says where the Spark of a connection is; for a session it waits until the server listens."""
