"""Timetables around another one: later starts, and longer intervals."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Final, Self
from zoneinfo import ZoneInfo

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError, brief
from headway.domain.interval import DataInterval
from headway.timetables.base import END, Arguments, DagRunInfo, TimeRestriction, Timetable
from headway.timetables.kinds.recurring import Recurring, countable
from headway.timetables.wall_clock.durations import (
    Duration,
    Period,
    in_calendar,
    read_length,
    to_data,
)
from headway.timetables.wall_clock.zones import ends_gap, find_zone, first_at

_SLACK: Final = timedelta(days=4)
"""No calendar day is longer than two, and no month than another one plus three days."""


@dataclass(frozen=True, slots=True)
class Delayed(Timetable):
    """The same intervals as `timetable`, each run starting later by `by` of elapsed time.

    It goes around everything else: delay a rolling window or a union as a whole.
    """

    name: ClassVar[str] = "delayed"

    timetable: Timetable
    by: Duration
    _by: timedelta = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.timetable, Timetable) or isinstance(self.timetable, Delayed):
            raise TimetableError(
                "Delayed takes a timetable that is not delayed yet, such as "
                f"DataTimetable('@daily'), not {brief(self.timetable)}."
            )
        by = in_calendar(read_length("The delay of a timetable", self.by))
        if by.months:
            raise TimetableError(f"A timetable cannot be delayed by months ({by}); give days.")
        object.__setattr__(self, "_by", timedelta(by.days) + by.rest)
        object.__setattr__(self, "by", self._by)

    @property
    def summary(self) -> str:
        """The timetable and the delay."""
        return f"{self.timetable.summary}, {self.by} later"

    @property
    def partitions(self) -> bool:
        """As the timetable's."""
        return self.timetable.partitions

    @property
    def children(self) -> tuple[Timetable, ...]:
        """The timetable that is delayed."""
        return (self.timetable,)

    def in_zone(self, timezone: str) -> Timetable:
        """Return it in that zone."""
        return Delayed(self.timetable.in_zone(timezone), self.by)

    def next_dagrun_info(
        self, last: DataInterval | None, restriction: TimeRestriction, now: datetime
    ) -> DagRunInfo | None:
        """Return the run of the timetable, as it was so long ago."""
        try:
            info = self.timetable.next_dagrun_info(last, restriction, now - self._by)
            run_after = None if info is None else info.run_after + self._by
            if info is None or run_after is None or run_after > END:
                return None
            return DagRunInfo(run_after, info.data_interval)
        except OverflowError:  # the calendar ends with the year 9999
            return None

    def infer_manual_data_interval(self, run_after: datetime) -> DataInterval:
        """Return the interval that a run would be about so long before."""
        return self.timetable.infer_manual_data_interval(run_after - self._by)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the timetable and the delay in seconds."""
        return {"timetable": nested(self.timetable), "by": to_data(self._by)}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        timetable, by = arguments.take_timetable("timetable"), arguments.take_length("by")
        if isinstance(by, Period):
            raise arguments.error(f"'by' must be a number of seconds, not {by}")
        return cls(timetable, by)


@dataclass(frozen=True, slots=True)
class RollingWindow(Recurring):
    """Runs when `timetable` does, each run over the time of `size` that ends with its interval.

    `RollingWindow(DataTimetable("@daily"), size=timedelta(days=7))` runs every day over the
    last seven.  The days of `size` are calendar days of the zone where `timetable` runs once a day
    at most, else they have 24 hours.  The first window is the first one that does not begin
    before the DAG's start date.
    """

    name: ClassVar[str] = "rolling"

    timetable: Recurring
    size: Duration
    timezone: str | None = None
    _zone: ZoneInfo = field(init=False, repr=False, compare=False)
    _size: Period = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kind = type(self.timetable)
        if not issubclass(kind, Recurring) or kind is RollingWindow:
            raise TimetableError(
                "RollingWindow takes a timetable that says by rule when it runs, such as "
                f"DataTimetable('@daily'), not {brief(self.timetable)}. To delay a rolling "
                "window, write Delayed(RollingWindow(…), by)."
            )
        size = in_calendar(read_length("The size of a rolling window", self.size))
        plain = size if size.months else timedelta(size.days) + size.rest
        object.__setattr__(self, "size", plain)
        counted = countable("The size of a rolling window", size, self.timetable.often)
        object.__setattr__(self, "_size", counted)
        object.__setattr__(self, "_zone", find_zone(self.timezone or "UTC"))

    @property
    def summary(self) -> str:
        """The timetable and the size."""
        return f"{self.timetable.summary}, the last {self.size}"

    @property
    def partitions(self) -> bool:
        """Windows overlap."""
        return False

    @property
    def length(self) -> Period | None:
        """The size."""
        return self._size

    @property
    def children(self) -> tuple[Timetable, ...]:
        """The timetable that says when."""
        return (self.timetable,)

    def in_zone(self, timezone: str) -> "RollingWindow":
        """Return it in that zone, unless it has one of its own."""
        inner = self.timetable.in_zone(timezone)
        return RollingWindow(inner, self.size, self.timezone or timezone)

    def first_from(self, earliest: datetime) -> DataInterval | None:
        """Return the first window that does not begin before `earliest`."""
        found = self.timetable.first_from(earliest)
        if found is not None:
            full = self._size.after(earliest, self._zone)
            found = self.timetable.skip_missed(found, earliest, full - timedelta.resolution)
        while found is not None and self._window(found).start < earliest:
            found = self.timetable.next_from(found, earliest)
        return found and self._window(found)

    def next_from(self, last: DataInterval, earliest: datetime | None) -> DataInterval | None:
        """Return the window that ends when the next interval of the timetable does."""
        inner = self.timetable.next_from(self.timetable.complete_by(last.end), earliest)
        if inner is None:
            return None
        window = self._window(inner)
        if earliest is not None and window.start < earliest:
            return self.first_from(earliest)
        return window

    def following(self, last: DataInterval) -> DataInterval | None:
        """Return the window that ends when the next interval of the timetable does."""
        return self.next_from(last, None)

    def last_starting(self, before: datetime) -> DataInterval | None:
        """Return the latest window that starts before `before`."""
        slack = _SLACK if self._in_days else timedelta(0)
        inner = self.timetable.last_starting(self._size.after(before, self._zone) + slack)
        while inner is not None and (window := self._window(inner)).start >= before:
            inner = self.timetable.last_starting(inner.start)
        return None if inner is None else window

    def skip_missed(
        self, interval: DataInterval | None, earliest: datetime | None, now: datetime
    ) -> DataInterval | None:
        """Return the latest window complete by `now`, or `interval` if that is later."""
        inner = None if interval is None else self.timetable.complete_by(interval.end)
        inner = self.timetable.skip_missed(inner, earliest, now)
        return inner and self._window(inner)

    def last_over(self, moment: datetime) -> DataInterval | None:
        """Return the latest window that is over by `moment`."""
        inner = self.timetable.last_over(moment)
        return inner and self._window(inner)

    def complete_by(self, moment: datetime) -> DataInterval:
        """Return the latest window that is over by `moment`."""
        return self._window(self.timetable.complete_by(moment))

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the timetable, the size and the zone."""
        timetable, size = nested(self.timetable), to_data(self.size)
        return {"timetable": timetable, "size": size, "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        timetable, size = arguments.take_timetable("timetable"), arguments.take_length("size")
        if not isinstance(timetable, Recurring):
            raise arguments.error(f"there is no rolling window of {timetable.summary}")
        return cls(timetable, size, arguments.take_optional_text("timezone"))

    @property
    def _in_days(self) -> bool:
        return bool(self._size.months or self._size.days)

    def _window(self, interval: DataInterval) -> DataInterval:
        end, wall = interval.end, None
        if self._in_days and ends_gap(end, self._zone):
            wall = self._skipped(interval)
        return DataInterval(self._size.after(end, self._zone, -1, wall=wall), end)

    def _skipped(self, interval: DataInterval) -> datetime | None:
        """Return the time at which an interval would end, had the clocks not skipped it.

        What is counted in days runs once a day at most, at one time of day: that of the end before.
        """
        past = self.timetable.last_starting(interval.start)
        if past is None:
            return None
        shown = interval.end.astimezone(self._zone).replace(tzinfo=None)
        wall = datetime.combine(shown, past.end.astimezone(self._zone).time())
        wall -= timedelta(days=wall > shown)
        return wall if first_at(wall, self._zone) == interval.end else None


def undelayed(timetable: Timetable) -> Timetable:
    """Return the timetable that a delay is around, or itself."""
    return timetable.timetable if isinstance(timetable, Delayed) else timetable


def nested(timetable: Timetable) -> JsonValue:
    """Return a timetable as an argument of another one."""
    return {"name": timetable.name, "arguments": dict(timetable.arguments())}
