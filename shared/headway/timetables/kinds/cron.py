"""Timetables by cron string: over the intervals between ticks, or at the exact time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final, Self

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError, brief
from headway.domain.interval import DataInterval
from headway.timetables.base import Arguments
from headway.timetables.kinds.recurring import INSTANT, Exact, Often, Recurring, countable
from headway.timetables.wall_clock.cron_pattern import parse
from headway.timetables.wall_clock.durations import (
    Duration,
    Period,
    in_calendar,
    read_length,
    to_data,
)
from headway.timetables.wall_clock.ticks import Ticks, meant_at, ticks_of

_DAY: Final = Period(0, 1)
_SLACK: Final = timedelta(days=1)
"""No clocks were ever changed by more: Samoa skipped a day."""

MOST_CRONS: Final = 100
"""Cron strings of one timetable beyond which it is refused."""


@dataclass(frozen=True, slots=True)
class DataTimetable(Recurring):
    """Runs over the data of an interval, as soon as it is over.

    Intervals lie between the ticks of the cron string, so that the run over a day starts
    when that day has ended.  With an explicit `interval` each one ends that long after its
    tick instead: `DataTimetable("0 0 * * MON-FRI", interval=timedelta(days=1))` runs over
    Friday on Saturday at midnight, not on Monday.  Where the cron string has one time of day,
    the days of `interval` are calendar days of the zone, whose length varies where the clocks
    are changed; else they have 24 hours.

    The zone is the DAG's unless `timezone` names another one.
    """

    name: ClassVar[str] = "data"

    cron: str
    interval: Duration | None = None
    timezone: str | None = None
    _ticks: Ticks = field(init=False, repr=False, compare=False)
    _length: Period | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _settle(self, self.cron, self.timezone)
        length = None
        if self.interval is not None:
            length = in_calendar(read_length("The interval of a timetable", self.interval))
            plain = length if length.months else timedelta(length.days) + length.rest
            object.__setattr__(self, "interval", plain)
            length = countable("The interval of a timetable", length, self.often)
        object.__setattr__(self, "_length", length)

    @property
    def summary(self) -> str:
        """The cron string, and the length of the interval if it is explicit."""
        return self.cron if self.interval is None else f"{self.cron} over {self.interval}"

    @property
    def length(self) -> Period | None:
        """The explicit length, if there is one."""
        return self._length

    @property
    def partitions(self) -> bool:
        """Whether intervals never overlap: certain between ticks, and for one day a day."""
        if self._length is None:
            return True
        return self._length == _DAY and self.often > Often.ANY

    @property
    def often(self) -> Often:
        """Whether the cron string has one time of day, and one day of the month."""
        return _often(self.cron)

    def in_zone(self, timezone: str) -> "DataTimetable":
        """Return it in that zone, unless it has one of its own."""
        return self if self.timezone else replace(self, timezone=timezone)

    def first_from(self, earliest: datetime) -> DataInterval | None:
        """Return the interval of the first tick at or after `earliest`."""
        return self._starting_at(self._ticks.at_or_after(earliest))

    def following(self, last: DataInterval) -> DataInterval | None:
        """Return the interval from where `last` ends, so that nothing is left out.

        With an explicit length it is that of the tick that follows.  Where `last` does not end on
        a tick, because the schedule was another one then, one shorter interval leads over
        to the first tick.
        """
        if self._length is None:
            return self._starting_at(last.end.astimezone(UTC))
        if self.partitions:
            return self._starting_at(self._ticks.at_or_after(last.end))
        return self._starting_at(self._ticks.after(last.start))

    def last_starting(self, before: datetime) -> DataInterval | None:
        """Return the interval of the last tick before `before`."""
        return self._starting_at(self._ticks.before(before))

    def started_by(self, moment: datetime) -> datetime:
        """Return a time at which every interval that is over by `moment` has started."""
        if self._length is None:
            return self._ticks.at_or_before(moment) - INSTANT
        if not self._length.months and not self._length.days:  # clocks change nothing about it
            return moment.astimezone(UTC) - self._length.rest
        slack = _SLACK + timedelta(days=3 if self._length.months else 0)
        return min(moment, self._length.after(moment, self._ticks.zone, -1) + slack)

    def meant(self, start: datetime) -> list[datetime]:
        """Return the times of the cron string that a tick stands for."""
        return meant_at(start, self._ticks)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the cron string, the zone and the interval."""
        interval = None if self.interval is None else to_data(self.interval)
        return {"cron": self.cron, "timezone": self.timezone, "interval": interval}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        cron, timezone = arguments.take_text("cron"), arguments.take_optional_text("timezone")
        return cls(cron, arguments.take_optional_length("interval"), timezone)

    def _starting_at(self, start: datetime) -> DataInterval:
        if self._length is None:
            return DataInterval(start, self._ticks.after(start))
        wall = next(self._ticks.meant(start))  # the days of what a gap has moved are its own
        end = self._length.after(start, self._ticks.zone, wall=wall)
        if end <= start:  # all of them were skipped
            end = self._length.after(start, self._ticks.zone)
        return DataInterval(start, end)


@dataclass(frozen=True, slots=True)
class CronTimetable(Exact):
    """Runs at the exact times of a cron string; each run is about its own instant.

    The zone is the DAG's unless `timezone` names another one.
    """

    name: ClassVar[str] = "cron"

    cron: str
    timezone: str | None = None
    _ticks: Ticks = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _settle(self, self.cron, self.timezone)

    @property
    def summary(self) -> str:
        """The cron string."""
        return self.cron

    def in_zone(self, timezone: str) -> "CronTimetable":
        """Return it in that zone, unless it has one of its own."""
        return self if self.timezone else replace(self, timezone=timezone)

    @property
    def often(self) -> Often:
        """Whether the cron string has one time of day, and one day of the month."""
        return _often(self.cron)

    def tick_after(self, instant: datetime) -> datetime | None:
        """Return the first tick later than `instant`."""
        return self._ticks.after(instant)

    def tick_before(self, instant: datetime) -> datetime | None:
        """Return the last tick earlier than `instant`."""
        return self._ticks.before(instant)

    def meant(self, start: datetime) -> list[datetime]:
        """Return the times of the cron string that a tick stands for."""
        return meant_at(start, self._ticks)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the cron string and the zone."""
        return {"cron": self.cron, "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        return cls(arguments.take_text("cron"), arguments.take_optional_text("timezone"))


@dataclass(frozen=True, slots=True)
class MultipleCronTimetable(Exact):
    """Runs at the exact times of several cron strings, once where they agree."""

    name: ClassVar[str] = "crons"

    crons: Sequence[str]
    timezone: str | None = None
    _ticks: tuple[Ticks, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        crons = self.crons
        if isinstance(crons, str) or not isinstance(crons, Sequence) or not crons:
            raise TimetableError(
                "MultipleCronTimetable takes a list of cron strings, for example "
                f"['0 9 * * *', '30 17 * * *']; not {brief(crons)}."
            )
        if len(crons) > MOST_CRONS:
            raise TimetableError(f"A timetable has {MOST_CRONS} cron strings at most.")
        ticks = tuple(ticks_of(cron, self.timezone or "UTC") for cron in crons)
        object.__setattr__(self, "crons", tuple(parse(cron).text for cron in crons))
        object.__setattr__(self, "_ticks", ticks)

    @property
    def summary(self) -> str:
        """The cron strings."""
        return " | ".join(self.crons)

    def in_zone(self, timezone: str) -> "MultipleCronTimetable":
        """Return it in that zone, unless it has one of its own."""
        return self if self.timezone else replace(self, timezone=timezone)

    def tick_after(self, instant: datetime) -> datetime | None:
        """Return the first tick later than `instant`."""
        return min(ticks.after(instant) for ticks in self._ticks)

    def tick_before(self, instant: datetime) -> datetime | None:
        """Return the last tick earlier than `instant`."""
        return max(ticks.before(instant) for ticks in self._ticks)

    def meant(self, start: datetime) -> list[datetime]:
        """Return the times of the cron strings that a tick stands for."""
        return meant_at(start, *self._ticks)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the cron strings and the zone."""
        return {"crons": list(self.crons), "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        crons = arguments.take_texts("crons", MOST_CRONS)
        return cls(crons, arguments.take_optional_text("timezone"))


def _settle(timetable: DataTimetable | CronTimetable, cron: object, timezone: str | None) -> None:
    """Check the cron string and the zone; write the one out and keep their ticks."""
    ticks = ticks_of(cron, "UTC" if timezone is None else timezone)
    object.__setattr__(timetable, "cron", parse(cron).text)
    object.__setattr__(timetable, "_ticks", ticks)


def _often(cron: str) -> Often:
    pattern = parse(cron)
    if pattern.once_a_month:
        return Often.ONCE_A_MONTH
    return Often.ONCE_A_DAY if pattern.once_a_day else Often.ANY
