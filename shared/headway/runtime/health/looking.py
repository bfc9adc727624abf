"""A look that may take long, such as one at the database, for probes that must not wait for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Final

from headway.runtime.daemon.clock import Clock
from headway.runtime.health.check import HealthCheck

PATIENCE: Final = 2.0
"""Seconds that a look gets; who asks later hears at once that it has not ended."""

FRESH: Final = 1.0
"""Seconds for which the next ones who ask get the same answer."""


@dataclass(slots=True)
class _Look:
    began_at: float
    ended_at: float = 0.0
    ended: Event = field(default_factory=Event)
    found: list[HealthCheck] = field(default_factory=list)


@dataclass(slots=True)
class Looking:
    """Look when somebody asks: one look at a time, whoever asks and however often.

    A look that hangs is left alone in its thread, and none is begun before it has ended.
    """

    name: str
    look: Callable[[], list[HealthCheck]]
    clock: Clock
    _lock: Lock = field(default_factory=Lock)
    _last: _Look | None = None

    def __call__(self, patience: float = PATIENCE) -> list[HealthCheck]:
        """Return what the last look has found, or that it has not ended for so many seconds."""
        look = self._current()
        if self.clock.wait(look.ended, look.began_at + patience - self.clock.monotonic()):
            return look.found
        seconds = self.clock.monotonic() - look.began_at
        return [HealthCheck(self.name, False, f"has not answered for {seconds:.1f} s")]

    def _current(self) -> _Look:
        """Return the look that is under way or fresh, else one that begins now."""
        with self._lock:
            now = self.clock.monotonic()
            last = self._last
            if last is None or (last.ended.is_set() and now >= last.ended_at + FRESH):
                last = self._last = _Look(now)
                Thread(target=self._run, args=[last], name=self.name, daemon=True).start()
            return last

    def _run(self, look: _Look) -> None:
        look.found = [HealthCheck(self.name, False, "the look has failed; the log says why")]
        try:
            look.found = self.look()
        finally:
            look.ended_at = self.clock.monotonic()
            look.ended.set()
