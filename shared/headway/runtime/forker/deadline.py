"""Until when a child may live: its supervisor moves that moment, its nanny reads it.

The moment is in a file without a name, in memory.  The supervisor passes the file with the order
to start the child, and writes to it; the nanny reads it.  A renewal is a write: it needs no
message, and no other process has to run for it.  The moment is one of the machine's clock, so a
write that a stopped supervisor makes late grants nothing.
"""

import os
import struct
import sys
import tempfile
from typing import Final, Self

from headway.runtime.daemon.clock import SystemClock

_CLOCK: Final = SystemClock()
_TWICE: Final = struct.Struct("=2d")
"""The moment, two times: a reader that sees them differ has read during a write."""


class Deadline:
    """A moment that one process moves and another one reads."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def new(cls, moment: float) -> Self:
        """Make a file that holds this moment; OSError when that is impossible."""
        made = cls(_nameless_file())
        made.move(moment)
        return made

    def fileno(self) -> int:
        """Return the descriptor of the file."""
        return self._descriptor

    def move(self, moment: float) -> None:
        """Write another moment, an earlier or a later one."""
        os.pwrite(self._descriptor, _TWICE.pack(moment, moment), 0)

    def moment(self) -> float:
        """Return the moment that was written last."""
        while True:
            first, second = _TWICE.unpack(os.pread(self._descriptor, _TWICE.size, 0))
            if first == second:
                return float(first)

    def has_passed(self) -> bool:
        """Return whether the moment has come."""
        return _CLOCK.monotonic() >= self.moment()

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


def _nameless_file() -> int:
    if sys.platform == "linux":
        return os.memfd_create("deadline")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
