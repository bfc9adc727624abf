"""The layers of a sandbox: what is asked, and the account of which are in force."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class Layer(StrEnum):
    """A means of the kernel; each stops something by itself."""

    USER = "user"
    """Another user, where the forker is root."""
    NAMESPACE = "namespace"
    """A PID namespace: nothing outside can be signalled or even named."""
    PROC = "proc"
    """A /proc of that namespace: nothing outside can be seen."""
    LIMITS = "limits"
    """Limits of resources, and the first place when memory is short."""
    PRIVILEGES = "privileges"
    """No capability, and none to be gained by whatever is executed."""
    LANDLOCK = "landlock"
    """Files, TCP, signals and abstract sockets by a list of what is allowed."""
    SECCOMP = "seccomp"
    """System calls that are refused, above all `socket`."""


EVERY: Final = tuple(Layer)


_IN_FORCE: Final[Mapping[Layer, str]] = {
    Layer.NAMESPACE: "in a PID namespace",
    Layer.PROC: "with a /proc of its own",
    Layer.LIMITS: "with limits of resources",
    Layer.PRIVILEGES: "without capabilities",
    Layer.LANDLOCK: "with Landlock",
    Layer.SECCOMP: "without network",
}


_MISSING: Final[Mapping[Layer, str]] = {
    Layer.USER: "another user",
    Layer.NAMESPACE: "a PID namespace",
    Layer.PROC: "a /proc of its own",
    Layer.LIMITS: "limits of resources",
    Layer.PRIVILEGES: "capabilities dropped",
    Layer.LANDLOCK: "Landlock",
    Layer.SECCOMP: "a filter of system calls",
}


@dataclass(frozen=True, slots=True)
class Isolation:
    """Which layers hold, as `user`, and for each of the others why it does not."""

    user: str
    in_force: frozenset[Layer] = frozenset()
    missing: Mapping[Layer, str] = field(default_factory=dict)
    network: bool = False

    def describe(self, what: str = "DAG files are parsed") -> str:
        """Return sentences for a log: how `what` is done, and what is missing for which reason."""
        held = [words for layer, words in _IN_FORCE.items() if self._tells(layer)]
        who = f"as {self.user}" if Layer.USER in self.in_force else self._same_user()
        return " ".join([f"{what} {', '.join([who, *held])}.", *self._lacks()])

    def to_frame(self) -> dict[str, Any]:
        """Return this as plain data."""
        return {
            "user": self.user,
            "in_force": sorted(map(str, self.in_force)),
            "missing": {str(layer): why for layer, why in self.missing.items()},
            "network": self.network,
        }

    @classmethod
    def from_frame(cls, frame: dict[str, Any]) -> "Isolation":
        """Return what `to_frame` made the data of."""
        return cls(
            user=frame["user"],
            in_force=frozenset(map(Layer, frame["in_force"])),
            missing={Layer(name): str(why) for name, why in frame["missing"].items()},
            network=frame["network"],
        )

    def _tells(self, layer: Layer) -> bool:
        return layer in self.in_force and not (layer is Layer.SECCOMP and self.network)

    def _same_user(self) -> str:
        return f"as the same user ({self.missing.get(Layer.USER, 'no other was asked for')})"

    def _lacks(self) -> Iterator[str]:
        named: Iterable[Layer] = (layer for layer in EVERY if layer in self.missing)
        for layer in named:
            if layer is not Layer.USER:
                yield f"There is not {_MISSING[layer]}: {self.missing[layer]}."
        if Layer.SECCOMP in self.missing and Layer.USER not in self.in_force:
            yield "So that code can change the modes of all files of this account."


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
        data = {name: getattr(self, name) for name in self.__slots__}
        return {**data, "readable": list(self.readable), "hidden": list(self.hidden)}

    @classmethod
    def from_frame(cls, frame: dict[str, Any]) -> "Sandbox":
        """Return what `to_frame` made the data of."""
        paths = {name: tuple(frame[name]) for name in ("readable", "hidden")}
        return cls(**{**frame, **paths})
