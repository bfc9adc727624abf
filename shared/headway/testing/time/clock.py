"""Clocks that tests set; waiting on them takes no time.  `until` waits for what a machine does."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Final, TypeVar

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.database_clock import DatabaseClock

T = TypeVar("T")


PATIENCE: Final = 300.0
"""Seconds after which a wait fails: even on a busy machine, something hangs then."""


_POLL: Final = 0.1


_CLOCK: Final = SystemClock()


_NEVER: Final = Event()


def until(
    look: Callable[[], T | None],
    what: str,
    patience: float = PATIENCE,
    said: Callable[[], str] = str,
) -> T:
    """Look again and again until that returns something true, and return it.

    If it never does, the failure ends with what `said` returns.
    """
    deadline = _CLOCK.monotonic() + patience
    while True:
        found = look()
        if found:
            return found
        assert _CLOCK.monotonic() < deadline, f"Not in {patience:g} s: {what}.\n{said()}"
        _CLOCK.wait(_NEVER, _POLL)


NOON: datetime = datetime(2024, 1, 1, 12, tzinfo=UTC)


class FakeClock:
    """A clock that stands still but for `advance` and `wait`.

    Its monotonic time starts at 0, so it tells how long a test has waited in all.
    """

    def __init__(self, start: datetime = NOON) -> None:
        self._start = start
        self._elapsed = 0.0

    def now(self) -> datetime:
        """Return the start plus all the time that has passed since."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Return the seconds that have passed since the start."""
        return self._elapsed

    def wait(self, event: Event, seconds: float) -> bool:
        """Let `seconds` pass at once, unless `event` is set; return whether it is set."""
        if event.is_set():
            return True
        self.advance(seconds)
        return False

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self._elapsed += max(seconds, 0.0)


class ExpiringClock(SystemClock):
    """The machine's clock, but a wait for `event` of `seconds` is over once a shorter one begins.

    A time limit of so many seconds is up then once what it limits pauses, on any machine.
    """

    def __init__(self, event: Event, seconds: float) -> None:
        self._event, self._seconds = event, seconds
        self._is_up = Event()

    def wait(self, event: Event, seconds: float) -> bool:
        """Wait until `event` is set, at most `seconds`; return whether it is set."""
        if event is self._event and seconds == self._seconds:
            self._is_up.wait(seconds)
            return event.is_set()
        if event is self._event:
            self._is_up.set()
        return super().wait(event, seconds)


class SetClock(DatabaseClock):
    """A database's clock that shows what the process's own shows, and is never compared.

    Give a job this over a FakeClock to have it schedule by that.
    """

    def given(self) -> datetime:
        """Return the time that statements are to take for the present."""
        return self.own.now()

    def now(self) -> datetime:
        """Return the time of the process's own clock."""
        return self.own.now()

    def took(self, theirs: datetime) -> None:
        """Go by no reading."""

    def compare(self, before: datetime, theirs: datetime) -> None:
        """Compare nothing."""
