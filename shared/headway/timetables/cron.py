"""Timetables by cron string: over the intervals between ticks, or at the exact time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final, Self

from headway.domain.arguments import JsonValue
from headway.domain.interval import DataInterval
from headway.timetables.arguments import Arguments
from headway.timetables.cron_ticks import CronTicks, ticks_of
from headway.timetables.durations import check_duration
from headway.timetables.recurring import Recurring

_DAY: Final = timedelta(days=1)
_LONGEST_CHANGE: Final = _DAY
"""No clocks were ever changed by more: Samoa skipped a day."""


@dataclass(frozen=True, slots=True)
class DataTimetable(Recurring):
    """Runs over the data of an interval, as soon as it is over.

    Intervals lie between the ticks of the cron string, so that the run over a day starts
    when that day has ended.  With an explicit `interval` each one ends that long after its
    tick instead: `DataTimetable("0 0 * * MON-FRI", zone, timedelta(days=1))` runs over
    Friday on Saturday at midnight, not on Monday.  The days of `interval` are calendar
    days of the zone, whose length varies where the clocks are changed.
    """

    name: ClassVar[str] = "data"

    cron: str
    timezone: str
    interval: timedelta | None = None
    _ticks: CronTicks = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _settle(self, self.cron, self.timezone)
        if self.interval is not None:
            check_duration("The interval of a timetable", self.interval)

    @property
    def summary(self) -> str:
        """The cron string, and the length of the interval if it is explicit."""
        return self.cron if self.interval is None else f"{self.cron} over {self.interval}"

    @property
    def partitions(self) -> bool:
        """Whether intervals never overlap: certain between ticks, and for one day a day."""
        if self.interval is None:
            return True
        return self.interval == _DAY and len(self._ticks.pattern.minutes) == 1

    def starting_at(self, start: datetime) -> DataInterval:
        """Return the interval from `start` to the next tick, or of the explicit length."""
        if self.interval is None:
            return DataInterval(start, self._ticks.after(start))
        return DataInterval(start, self._end(start, self.interval))

    def start_following(self, last: DataInterval) -> datetime:
        """Return where `last` ends, so that nothing is left out, or the tick that follows.

        Where `last` does not end on a tick, because the schedule was another one then,
        one shorter interval leads over to the first tick.
        """
        if self.interval is None:
            return last.end.astimezone(UTC)
        if self.partitions:
            return self._ticks.at_or_after(last.end)
        return self._ticks.after(last.start)

    def align(self, earliest: datetime) -> datetime:
        """Return the first tick at or after `earliest`."""
        return self._ticks.at_or_after(earliest)

    def skip_missed(self, start: datetime | None, now: datetime) -> datetime:
        """Return the start of the latest interval complete by `now`, or `start` if later."""
        latest = self._latest_complete(now)
        return latest if start is None else max(start, latest)

    def complete_by(self, moment: datetime) -> DataInterval:
        """Return the latest interval that is over by `moment`."""
        return self.starting_at(self._latest_complete(moment))

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the cron string, the zone and the interval in seconds."""
        interval = None if self.interval is None else self.interval.total_seconds()
        return {"cron": self.cron, "timezone": self.timezone, "interval": interval}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        cron, timezone = arguments.take_text("cron"), arguments.take_text("timezone")
        return cls(cron, timezone, arguments.take_optional_duration("interval"))

    def _latest_complete(self, now: datetime) -> datetime:
        if self.interval is None:
            return self._ticks.before(self._ticks.at_or_before(now))
        start = self._ticks.at_or_before(now - self.interval + _LONGEST_CHANGE)
        while self._end(start, self.interval) > now:
            start = self._ticks.before(start)
        return start

    def _end(self, start: datetime, interval: timedelta) -> datetime:
        zone = self._ticks.zone
        days, rest = timedelta(days=interval.days), interval - timedelta(days=interval.days)
        if not days:
            return start + rest
        wall = start.astimezone(zone).replace(tzinfo=None) + days
        return self._ticks.first_at(wall) + rest


@dataclass(frozen=True, slots=True)
class CronTimetable(Recurring):
    """Runs at the exact times of a cron string; each run is about its own instant."""

    name: ClassVar[str] = "cron"

    cron: str
    timezone: str
    _ticks: CronTicks = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _settle(self, self.cron, self.timezone)

    @property
    def summary(self) -> str:
        """The cron string."""
        return self.cron

    @property
    def partitions(self) -> bool:
        """An instant is no period."""
        return False

    def starting_at(self, start: datetime) -> DataInterval:
        """Return the instant `start`."""
        return DataInterval.exact(start)

    def start_following(self, last: DataInterval) -> datetime:
        """Return the first tick after `last`."""
        return self._ticks.after(last.end)

    def align(self, earliest: datetime) -> datetime:
        """Return the first tick at or after `earliest`."""
        return self._ticks.at_or_after(earliest)

    def skip_missed(self, start: datetime | None, now: datetime) -> datetime:
        """Return the latest tick by `now`, or `start` if later."""
        latest = self._ticks.at_or_before(now)
        return latest if start is None else max(start, latest)

    def complete_by(self, moment: datetime) -> DataInterval:
        """Return the instant `moment`: a run by hand is about the time it is triggered for."""
        return DataInterval.exact(moment.astimezone(UTC))

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the cron string and the zone."""
        return {"cron": self.cron, "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        return cls(arguments.take_text("cron"), arguments.take_text("timezone"))


def _settle(timetable: DataTimetable | CronTimetable, cron: object, timezone: object) -> None:
    """Check the cron string and the zone; write the one out and keep their ticks."""
    ticks = ticks_of(cron, timezone)
    object.__setattr__(timetable, "cron", ticks.pattern.text)
    object.__setattr__(timetable, "_ticks", ticks)
