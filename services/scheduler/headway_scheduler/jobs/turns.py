"""How schedulers take turns at a pool of which there may be more to queue than one batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from headway.runtime.daemon.clock import Clock

LEAVE: Final = 0.01
"""Seconds for which a pool is left to other schedulers after a large batch."""


@dataclass(slots=True)
class Turns:
    """Which pools this scheduler may queue for now.

    A pool's row is nobody's for some milliseconds between two batches.  Whoever has just
    had it would be the first to ask for it again, and so queue everything; instead it
    lets the others go first.  It is courtesy alone: no lock is held, nothing is promised.
    """

    clock: Clock
    most: int
    _left_until: dict[str, float] = field(default_factory=dict)

    def mine(self, pools: Sequence[str]) -> list[str]:
        """Return those of these pools that are not left to others."""
        now = self.clock.monotonic()
        self._left_until = {name: until for name, until in self._left_until.items() if now < until}
        return [name for name in pools if name not in self._left_until]

    def had(self, pool: str, queued: int, jobs: int) -> bool:
        """Leave the pool to others after a large batch, if there are any; tell whether it is so."""
        theirs = jobs > 1 and 4 * queued >= self.most
        if theirs:
            self._left_until[pool] = self.clock.monotonic() + LEAVE
        return theirs
