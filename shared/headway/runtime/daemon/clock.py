"""The clock: the one module that reads the time and the one that waits."""

import time
from datetime import UTC, datetime
from threading import Event
from typing import Final, Protocol

_SINCE_BOOT: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""CLOCK_BOOTTIME counts the time during which the machine is suspended; only Linux has it."""


class Clock(Protocol):
    """What a process may ask of time; tests put a clock of their own in its place."""

    def now(self) -> datetime:
        """Return the current instant, aware and in UTC, for what is stored or shown."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow, for durations and deadlines.

        Time during which the machine is suspended counts.  All processes of one machine, and of
        one time namespace, have the same clock: a deadline may be passed to another process.
        """

    def wait(self, event: Event, seconds: float) -> bool:
        """Wait until `event` is set, at most `seconds`; return whether it is set."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """Return the current instant, aware and in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the seconds since the machine was started."""
        return time.clock_gettime(_SINCE_BOOT)

    def wait(self, event: Event, seconds: float) -> bool:
        """Wait until `event` is set, at most `seconds`; return whether it is set."""
        return event.wait(max(seconds, 0.0))
