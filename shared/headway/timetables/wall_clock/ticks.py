"""The instants at which a pattern of wall-clock times fires in a time zone.

What happens where clocks are changed is told in docs/timetables.md, "Gaps and folds".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from headway.timetables.wall_clock.cron_pattern import parse
from headway.timetables.wall_clock.effort import spend
from headway.timetables.wall_clock.zones import (
    end_of_gap,
    ends_gap,
    find_zone,
    occurrences,
    readings,
)

_INSTANT = timedelta.resolution
_IN_FOLD = 2
_A_TICK = 10
"""The work to find one, besides that of looking through days."""

_A_TEXT = 40
"""The work to read a cron string."""


class Pattern(Protocol):
    """Wall-clock times, with no notion of time zones: an endless rising sequence."""

    @property
    def every_hour(self) -> bool:
        """Whether it has times in every hour of its days."""

    @property
    def every_few(self) -> bool:
        """Whether its minutes, or its hours, are all, or every so many."""

    def after(self, wall: datetime) -> datetime:
        """Return the first time of the pattern that is later than `wall`."""

    def before(self, wall: datetime) -> datetime:
        """Return the last time of the pattern that is earlier than `wall`."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """The ticks of a pattern in a zone: an endless rising sequence of instants in UTC.

    With `at_gaps` what a gap skips fires when it ends, though the pattern be one of every hour.
    """

    pattern: Pattern
    zone: ZoneInfo
    at_gaps: bool = False

    def after(self, instant: datetime) -> datetime:
        """Return the first tick later than `instant`."""
        # In a fold the wall-clock times that were already seen are yet to come again:
        # begin with the lowest of them, and decide once the fold is left behind.
        wall, _ = readings(instant, self.zone)
        found: list[datetime] = []
        in_fold = False
        while in_fold or not found:
            spend(_A_TICK)
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
            spend(_A_TICK)
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

    def meant(self, tick: datetime) -> Iterator[datetime]:
        """Yield the wall-clock times of the pattern that a tick stands for, the last one first.

        It is one, but at the end of a gap: there are those that the gap has skipped.
        """
        shown = tick.astimezone(self.zone).replace(tzinfo=None, fold=0)
        wall = self.pattern.before(shown + _INSTANT)
        while tick in self._ticks_at(wall)[0]:
            yield wall
            wall = self.pattern.before(wall)

    def _ticks_at(self, wall: datetime) -> tuple[tuple[datetime, ...], bool]:
        found = occurrences(wall, self.zone)
        if not found:
            goes_on = self.pattern.every_hour and not self.at_gaps
            return (() if goes_on else (end_of_gap(wall, self.zone),)), False
        twice = self.pattern.every_hour or self.pattern.every_few
        return (found if twice else found[:1]), len(found) == _IN_FOLD


def meant_at(tick: datetime, *ticks: Ticks) -> list[datetime]:
    """Return what a tick of any of them stands for: itself, or what a gap has skipped.

    That is a time of their zone that its clocks never showed.
    """
    zone = ticks[0].zone
    if not ends_gap(tick, zone):
        return [tick]
    walls = sorted({wall for parts in ticks for wall in parts.meant(tick)})
    return [wall.replace(tzinfo=zone) for wall in walls] or [tick]


def ticks_of(cron: object, timezone: object) -> Ticks:
    """Return the ticks of a cron string in the zone of that name, or raise TimetableError."""
    spend(_A_TEXT)
    return Ticks(parse(cron), find_zone(timezone))
