"""Where a Spark Connect server listens, and how its clients prove themselves."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from headway_worker.spark.target.connection import SparkConnection

RELEASE: Final = "headway_worker.spark.session.release:release"
"""The target of a child that ends what a dead attempt left running in Spark."""

_USER: Final = "headway"


@dataclass(frozen=True, slots=True)
class ConnectEndpoint:
    """A Spark Connect server: `sc://host:port`, and the token that it may ask for.

    For a server without TLS that asks for one the host must read `localhost`, whatever it
    is bound to.  `user` is whose a session is, which is known by that and its id.
    `process` is the identity of a server that is a worker's own; `python` is the program that
    runs the UDFs of this attempt there, if it has one of its own.
    The token is in no text that is made of this record.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    user: str = _USER
    tls: bool = False
    ca_file: str | None = None
    process: str | None = None
    python: str | None = None

    @classmethod
    def of(cls, connection: SparkConnection) -> "ConnectEndpoint":
        """Return where the server of a connection of kind connect is."""
        return cls(
            url=connection.url,
            token=connection.token,
            user=connection.user or _USER,
            tls=connection.tls,
            ca_file=connection.ca_file,
        )

    def to_frame(self) -> dict[str, Any]:
        """Return this as plain data; the token is part of it."""
        return asdict(self)

    @classmethod
    def from_frame(cls, frame: Mapping[str, Any]) -> "ConnectEndpoint":
        """Return what `to_frame` made the data of."""
        return cls(**frame)


def release_argument(endpoint: ConnectEndpoint, session_id: str) -> dict[str, Any]:
    """Return the argument that the target RELEASE takes."""
    return {"endpoint": endpoint.to_frame(), "session_id": session_id}
