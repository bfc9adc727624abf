"""Whether the loop of a process makes steps."""

from dataclasses import dataclass, field
from typing import Final

from headway.runtime.daemon.clock import Clock
from headway.runtime.health.check import HealthCheck

STUCK_AFTER: Final = 120.0
"""Seconds without a sign of the loop after which it is stuck.

A step may wait 60 s for a fork server to start, and 30 s for a statement.
"""


@dataclass(slots=True)
class LoopProgress:
    """When the loop of this process was last heard of; any thread may tell or ask."""

    clock: Clock
    bound: float = STUCK_AFTER
    _last: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        self.move()

    def move(self, rest: float = 0.0) -> None:
        """Say that a step begins; or that one has ended, and that the loop rests for so long."""
        self._last = self.clock.monotonic(), rest

    def check(self) -> HealthCheck:
        """Tell whether the loop has moved within the bound, a rest that it announced aside."""
        moved_at, rest = self._last
        silent = self.clock.monotonic() - moved_at
        return HealthCheck("loop", silent <= rest + self.bound, f"last moved {silent:.1f} s ago")
