"""What a supervisor asks of a sandbox."""

from dataclasses import asdict, dataclass
from typing import Any

ANOTHER_USER = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What a child may do that runs code which nobody vouches for.

    It may read the folders and files `readable`; the interpreter, all that is on
    `sys.path` and the system's folders need not be named.  What is `hidden` stays
    unreadable below a readable folder, but for what is named readable below it.
    `network` lets it use TCP and UDP, never Unix sockets.  `processes` counts
    threads too, `file_bytes` is the size of one file.  `user` is the account that it
    becomes where it is root; None, or one that cannot read all this, leaves it root.
    """

    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: bool = False
    processes: int = 128
    file_bytes: int = 64 * 2**20
    user: str | None = ANOTHER_USER

    def to_frame(self) -> dict[str, Any]:
        """Return this as plain data."""
        return {**asdict(self), "readable": list(self.readable), "hidden": list(self.hidden)}

    @classmethod
    def from_frame(cls, frame: dict[str, Any]) -> "Sandbox":
        """Return what `to_frame` made the data of."""
        paths = {name: tuple(frame[name]) for name in ("readable", "hidden")}
        return cls(**{**frame, **paths})
