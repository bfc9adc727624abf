"""The database's clock, as a process knows it from the answers to its statements."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event

from headway.domain.clock_skew import described, is_beyond, is_notable, skew
from headway.runtime.daemon.clock import Clock

log = logging.getLogger(__name__)


@dataclass(slots=True)
class DatabaseClock:
    """The time by the database's clock, and how far the clock of this process differs from it.

    `now` is the last reading plus the monotonic time since its answer came.  The answer came
    later than the reading was made, so `now` is never ahead of the database's clock.  Time during
    which this machine is suspended counts, as it does for the database.  The wall clock of this
    machine decides nothing; it is compared, so that a wrong one is seen.

    `bound` is by how many seconds the clocks may differ before this process must not schedule;
    0 is no bound.
    """

    own: Clock
    bound: float = 0.0
    skew: float | None = None
    _read: datetime | None = None
    _read_at: float = 0.0

    @property
    def is_out_of_bounds(self) -> bool:
        """Whether the clocks differ by more than the bound, as far as is known."""
        return self.skew is not None and is_beyond(self.skew, self.bound)

    def given(self) -> datetime | None:
        """Return the time that a statement is to take for the present; None for the database's."""
        return None

    def now(self) -> datetime:
        """Return the time by the database's clock; there must have been a reading."""
        assert self._read is not None, "the database's clock has not been read"
        return self._read + timedelta(seconds=self.own.monotonic() - self._read_at)

    def monotonic(self) -> float:
        """Return seconds that only ever grow, for durations and deadlines."""
        return self.own.monotonic()

    def wait(self, event: Event, seconds: float) -> bool:
        """Wait until `event` is set, at most `seconds`; return whether it is set."""
        return self.own.wait(event, seconds)

    def took(self, theirs: datetime) -> None:
        """Take what the database's clock has shown in a statement whose answer has just come."""
        self._read, self._read_at = theirs, self.own.monotonic()

    def compare(self, before: datetime, theirs: datetime) -> None:
        """Take a reading, and compare: `before` is what this clock had shown before it was made.

        Where the clocks begin to differ, or no longer do, the log says so.
        """
        self.took(theirs)
        earlier, self.skew = self.skew or 0.0, skew(before, theirs, self.own.now())
        was = is_notable(earlier), is_beyond(earlier, self.bound)
        if was != (is_notable(self.skew), is_beyond(self.skew, self.bound)):
            self._tell(self.skew)

    def _tell(self, seconds: float) -> None:
        differs = f"the clock of this machine is {described(seconds)}"
        if is_beyond(seconds, self.bound):
            log.error(
                "action=clock_skew seconds=%.1f: %s, more than "
                "HEADWAY_SCHEDULER_MAX_CLOCK_SKEW (%g s). This process schedules nothing until "
                "the clock is right; set it by NTP.",
                seconds,
                differs,
                self.bound,
            )
        elif is_notable(seconds):
            log.warning(
                "action=clock_skew seconds=%.1f: %s. What is due is due by the database's clock; "
                "set this one by NTP.",
                seconds,
                differs,
            )
        else:
            log.info("action=clock_right: the clock of this machine is the database's again.")
