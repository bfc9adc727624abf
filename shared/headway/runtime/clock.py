"""The clock: the one module that reads the time and the one that waits."""

import time
from datetime import UTC, datetime
from threading import Event
from typing import Protocol


class Clock(Protocol):
    """What a process may ask of time; tests put a clock of their own in its place."""

    def now(self) -> datetime:
        """Return the current instant, aware and in UTC, for what is stored or shown."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow, for durations and deadlines."""

    def wait(self, event: Event, seconds: float) -> bool:
        """Wait until `event` is set, at most `seconds`; return whether it is set."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """Return the current instant, aware and in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the seconds since an arbitrary moment in the past."""
        return time.monotonic()

    def wait(self, event: Event, seconds: float) -> bool:
        """Wait until `event` is set, at most `seconds`; return whether it is set."""
        return event.wait(max(seconds, 0.0))
