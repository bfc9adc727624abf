"""What the passes of a job have done, in figures."""

import logging
from collections import Counter
from dataclasses import dataclass, field

from headway.runtime.daemon.clock import Clock

log = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds between two lines in the log while there is work."""


@dataclass(slots=True)
class Figures:
    """How many steps did something since the last line in the log, and what each pass did."""

    clock: Clock
    _done: Counter[str] = field(default_factory=Counter)
    _steps: int = 0
    _next: float = 0.0

    def add(self, done: Counter[str]) -> bool:
        """Take the figures of one step, by pass; return whether the step did anything."""
        busy = done.total() > 0
        if busy:
            self._done += done
            self._steps += 1
        if self._steps and self.clock.monotonic() >= self._next:
            figures = " ".join(f"{name}={number}" for name, number in sorted(self._done.items()))
            log.info("action=step steps=%d %s", self._steps, figures)
            self._done, self._steps = Counter(), 0
            self._next = self.clock.monotonic() + EVERY
        return busy
