"""What a child of a worker runs."""

from collections.abc import Mapping
from typing import Protocol

from headway.runtime.processes.frames import Frame


class ChildOrder(Protocol):
    """What a child is to do: the order that it gets, and who takes it there."""

    @property
    def target(self) -> str:
        """The "package.module:function" that takes the order: a constant."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What user code finds in its environment of it."""

    def to_frame(self) -> Frame:
        """Return the order as plain data."""
