"""The instants at which a cron pattern fires in a time zone.

Where the clocks are changed, this policy holds:

* A time that is skipped fires at the first instant after the gap, once however many were
  skipped.  A pattern of every hour has no need of that and goes on with the next hour.
* A time that occurs twice fires once, at its first occurrence.  A pattern of every hour,
  or whose minutes are given as `*` or `*/n`, fires at both.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from headway.timetables.cron_pattern import CronPattern, parse
from headway.timetables.zones import end_of_gap, find_zone, occurrences, readings

_INSTANT = timedelta.resolution
_IN_FOLD = 2


@dataclass(frozen=True, slots=True)
class CronTicks:
    """The ticks of a pattern in a zone: an endless rising sequence of instants in UTC."""

    pattern: CronPattern
    zone: ZoneInfo

    def after(self, instant: datetime) -> datetime:
        """Return the first tick later than `instant`."""
        # In a fold the wall-clock times that were already seen are yet to come again:
        # begin with the lowest of them, and decide once the fold is left behind.
        wall, _ = readings(instant, self.zone)
        found: list[datetime] = []
        in_fold = False
        while in_fold or not found:
            wall = self.pattern.after(wall)
            ticks, in_fold = self._ticks_at(wall)
            found += [tick for tick in ticks if tick > instant]
        return min(found)

    def before(self, instant: datetime) -> datetime:
        """Return the last tick earlier than `instant`."""
        _, wall = readings(instant, self.zone)
        found: list[datetime] = []
        in_fold = False
        while in_fold or not found:
            wall = self.pattern.before(wall)
            ticks, in_fold = self._ticks_at(wall)
            found += [tick for tick in ticks if tick < instant]
        return max(found)

    def at_or_after(self, instant: datetime) -> datetime:
        """Return the first tick that is not earlier than `instant`."""
        return self.after(instant - _INSTANT)

    def at_or_before(self, instant: datetime) -> datetime:
        """Return the last tick that is not later than `instant`."""
        return self.before(instant + _INSTANT)

    def first_at(self, wall: datetime) -> datetime:
        """Return the instant at which the clocks first show `wall`, or have skipped it."""
        return (occurrences(wall, self.zone) or (end_of_gap(wall, self.zone),))[0]

    def _ticks_at(self, wall: datetime) -> tuple[tuple[datetime, ...], bool]:
        found = occurrences(wall, self.zone)
        if not found:
            return (() if self.pattern.every_hour else (end_of_gap(wall, self.zone),)), False
        twice = self.pattern.every_hour or self.pattern.every_few_minutes
        return (found if twice else found[:1]), len(found) == _IN_FOLD


def ticks_of(cron: object, timezone: object) -> CronTicks:
    """Return the ticks of a cron string in the zone of that name, or raise TimetableError."""
    return CronTicks(parse(cron), find_zone(timezone))
