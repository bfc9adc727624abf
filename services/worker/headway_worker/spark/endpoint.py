"""Where a Spark Connect server listens, and how its clients prove themselves."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

RELEASE: Final = "headway_worker.spark.release:release"
"""The target of a child that ends what a dead attempt left running in Spark."""


@dataclass(frozen=True, slots=True)
class ConnectEndpoint:
    """A Spark Connect server: `sc://host:port` and the token that it asks for.

    For a server without TLS the host must read `localhost`, whatever it is bound to.
    The token is in no text that is made of this record.
    """

    url: str
    token: str = field(repr=False)

    def to_frame(self) -> dict[str, str]:
        """Return this as plain data; the token is part of it."""
        return asdict(self)

    @classmethod
    def from_frame(cls, frame: Mapping[str, str]) -> "ConnectEndpoint":
        """Return what `to_frame` made the data of."""
        return cls(url=frame["url"], token=frame["token"])


def release_argument(endpoint: ConnectEndpoint, session_id: str) -> dict[str, Any]:
    """Return the argument that the target RELEASE takes."""
    return {"endpoint": endpoint.to_frame(), "session_id": session_id}
