"""What the launcher asks of the stem."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Self

from headway.runtime.processes.frames import Frame


@dataclass(frozen=True, slots=True)
class ServiceOrder:
    """A program to start: "package.module:function", its command line, its whole environment."""

    call: str
    arguments: Sequence[str]
    environment: Mapping[str, str]

    def to_frame(self) -> Frame:
        """Return the order as plain data."""
        return asdict(self)

    @classmethod
    def from_frame(cls, frame: Frame) -> Self:
        """Return the order that was sent."""
        return cls(**frame)
