"""Timetables of equal periods: of elapsed time, or of the calendar."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final, Self
from zoneinfo import ZoneInfo

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError
from headway.domain.interval import DataInterval
from headway.timetables.base import Arguments
from headway.timetables.kinds.recurring import Often, Recurring
from headway.timetables.wall_clock.durations import (
    Duration,
    Period,
    in_calendar,
    read_length,
    to_data,
)
from headway.timetables.wall_clock.zones import find_zone, first_at

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = timedelta(days=1)
_INSTANT: Final = timedelta.resolution
_PERIOD: Final = "The period of a schedule"
_SHORTEST: Final = timedelta(seconds=1)
"""Runs that are looked at one by one must not be more than time goes on."""


@dataclass(frozen=True, slots=True)
class TimeDeltaTimetable(Recurring):
    """Runs once per `delta` of elapsed time, whatever the clocks are set to.

    The first interval starts at the DAG's start date, or on a whole number of deltas
    since 1970 where it has none.  An explicit `interval` sets how long each one is; it
    is `delta` by default.
    """

    name: ClassVar[str] = "delta"

    delta: timedelta
    interval: timedelta | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _elapsed(_PERIOD, self.delta))
        _check_shortest(self.delta)
        if self.interval is not None:
            interval = _elapsed("The interval of a timetable", self.interval)
            object.__setattr__(self, "interval", interval)

    @property
    def summary(self) -> str:
        """How often it runs, and the length of the interval if it is explicit."""
        every = f"every {self.delta}"
        return every if self.interval is None else f"{every} over {self.interval}"

    @property
    def length(self) -> Period | None:
        """How long each interval is."""
        return Period(rest=self._length)

    @property
    def often(self) -> Often:
        """Whether at least a day lies between them."""
        return Often.ONCE_A_DAY if self.delta >= _DAY else Often.ANY

    @property
    def partitions(self) -> bool:
        """Whether an interval is over before the next one starts."""
        return self._length <= self.delta

    def first_from(self, earliest: datetime) -> DataInterval | None:
        """Return the interval from `earliest` itself: they are counted from there."""
        return self._starting_at(earliest.astimezone(UTC))

    def following(self, last: DataInterval) -> DataInterval | None:
        """Return the one from where `last` ends, or a delta after its start if that is later."""
        end, next_start = last.end.astimezone(UTC), last.start.astimezone(UTC) + self.delta
        if self.interval is None:
            return self._starting_at(end)
        return self._starting_at(max(next_start, end) if self.partitions else next_start)

    def last_starting(self, before: datetime) -> DataInterval | None:
        """Return the latest one that starts before `before`, in deltas since 1970."""
        steps = (before - _INSTANT - _EPOCH) // self.delta
        return self._starting_at(_EPOCH + steps * self.delta)

    def skip_missed(
        self,
        interval: DataInterval | None,
        earliest: datetime | None,  # noqa: ARG002
        now: datetime,
    ) -> DataInterval | None:
        """Return the latest complete interval, in steps of delta from `interval`."""
        if interval is None:
            return self.last_over(now)
        missed = (now - interval.end) // self.delta
        return interval if missed <= 0 else self._starting_at(interval.start + missed * self.delta)

    def complete_by(self, moment: datetime) -> DataInterval:
        """Return the interval that ends at `moment`."""
        end = moment.astimezone(UTC)
        return DataInterval(end - self._length, end)

    def started_by(self, moment: datetime) -> datetime:
        """Return a time at which every interval that is over by `moment` has started."""
        return moment - self._length

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the durations in seconds."""
        interval = None if self.interval is None else self.interval.total_seconds()
        return {"delta": self.delta.total_seconds(), "interval": interval}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        delta, interval = arguments.take_length("delta"), arguments.take_optional_length("interval")
        return cls(
            _elapsed(_PERIOD, delta),
            None if interval is None else _elapsed("The interval of a timetable", interval),
        )

    @property
    def _length(self) -> timedelta:
        return self.delta if self.interval is None else self.interval

    def _starting_at(self, start: datetime) -> DataInterval:
        return DataInterval(start, start + self._length)


@dataclass(frozen=True, slots=True)
class PeriodTimetable(Recurring):
    """Runs once per period of the calendar, for example a month, on the clocks of the zone.

    Periods are counted from the DAG's start date: those of a month from 31 January on begin
    on 28 February, 31 March and so on.  Without a start date they are counted from 1970.
    """

    name: ClassVar[str] = "period"

    period: Duration
    timezone: str | None = None
    _zone: ZoneInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        period = read_length(_PERIOD, self.period)
        _check_shortest(in_calendar(period).about)
        object.__setattr__(self, "period", period)
        object.__setattr__(self, "_zone", find_zone(self.timezone or "UTC"))

    @property
    def summary(self) -> str:
        """How often it runs."""
        return f"every {self.period}"

    @property
    def length(self) -> Period | None:
        """None: the start date decides where they end."""
        return None

    @property
    def often(self) -> Often:
        """Whether a period has at least a month, or a day."""
        if self._period.months > 0:
            return Often.ONCE_A_MONTH
        return Often.ONCE_A_DAY if self._period.about >= _DAY else Often.ANY

    @property
    def partitions(self) -> bool:
        """Each interval starts where the last one ends."""
        return True

    def in_zone(self, timezone: str) -> "PeriodTimetable":
        """Return it in that zone, unless it has one of its own."""
        return self if self.timezone else replace(self, timezone=timezone)

    def first_from(self, earliest: datetime) -> DataInterval | None:
        """Return the interval from `earliest` itself: they are counted from there."""
        return self._from(earliest.astimezone(UTC), earliest)

    def next_from(self, last: DataInterval, earliest: datetime | None) -> DataInterval | None:
        """Return the interval from where `last` ends to the next border from `earliest` on."""
        start = last.end.astimezone(UTC)
        if earliest is not None and start < earliest:
            return self.first_from(earliest)
        return self._from(start, earliest)

    def following(self, last: DataInterval) -> DataInterval | None:
        """Return the interval from where `last` ends to the next border from 1970 on."""
        return self._from(last.end.astimezone(UTC), None)

    def last_starting(self, before: datetime) -> DataInterval | None:
        """Return the latest one that starts before `before`, counted from 1970."""
        return self._starting_before(before, None)

    def skip_missed(
        self, interval: DataInterval | None, earliest: datetime | None, now: datetime
    ) -> DataInterval | None:
        """Return the latest complete interval counted from `earliest`, or `interval` if later."""
        latest = self._starting_before(now, earliest)
        while latest.end > now:
            latest = self._starting_before(latest.start, earliest)
        return latest if interval is None or latest.start > interval.start else interval

    def complete_by(self, moment: datetime) -> DataInterval:
        """Return the interval that ends at `moment`."""
        end = moment.astimezone(UTC)
        return DataInterval(self._shift(end, -1), end)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the period and the zone."""
        return {"period": to_data(self.period), "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        return cls(arguments.take_length("period"), arguments.take_optional_text("timezone"))

    def _from(self, start: datetime, earliest: datetime | None) -> DataInterval:
        """Return the interval from `start` to the first border after it."""
        origin = self._origin(earliest)
        number = self._count(start, origin)
        if start >= origin:  # and what lies before may be before the calendar
            number = max(number, 0)
        while (border := self._shift(origin, number)) <= start:
            number += 1
        return DataInterval(start, border)

    def _starting_before(self, before: datetime, earliest: datetime | None) -> DataInterval:
        origin = self._origin(earliest)
        number = self._count(before, origin) + 3
        while (start := self._shift(origin, number)) >= before:
            number -= 1
        return DataInterval(start, self._shift(origin, number + 1))

    def _count(self, instant: datetime, origin: datetime) -> int:
        """Return a number of periods from `origin` on that does not reach `instant`, nearly so."""
        return (instant - origin) // self._period.about - 2

    def _shift(self, origin: datetime, number: int) -> datetime:
        return self._period.after(origin, self._zone, number)

    def _origin(self, earliest: datetime | None) -> datetime:
        if earliest is None:
            return first_at(_EPOCH.replace(tzinfo=None), self._zone)
        return earliest.astimezone(UTC)

    @property
    def _period(self) -> Period:
        assert not isinstance(self.period, str)
        return self.period if isinstance(self.period, Period) else Period(rest=self.period)


def _check_shortest(period: timedelta) -> None:
    if period < _SHORTEST:
        raise TimetableError(f"{_PERIOD} must be a second at least; it is {period}.")


def _elapsed(what: str, value: object) -> timedelta:
    """Return a duration as elapsed time, in which a day has 24 hours."""
    length = read_length(what, value)
    if isinstance(length, timedelta):
        return length
    if length.months:
        raise TimetableError(
            f"{what} cannot be {length}, as months differ in length; pass it as the schedule "
            "itself, or take PeriodTimetable, which counts by the calendar."
        )
    return timedelta(days=length.days) + length.rest
