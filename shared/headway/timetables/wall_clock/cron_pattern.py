"""A cron string as a pattern of wall-clock times, with no notion of time zones."""

from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final

from headway.domain.errors import TimetableError, brief
from headway.timetables.wall_clock.cron_fields import (
    EVERY,
    HOUR,
    LAST,
    MINUTE,
    MONTH,
    has_star,
    is_every,
    read_days,
    read_weekdays,
)
from headway.timetables.wall_clock.effort import spend

PRESETS: Final[Mapping[str, str]] = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_HOURS_A_DAY = 24
_LEAP_YEAR = 2000
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CronPattern:
    """The wall-clock times that a cron string stands for; `parse` makes one.

    `minutes` are those of the day, sorted.  `days` or `weekdays` is None where the field
    was `*` or `*/1`; where both are given a date need match only one of them, as in every cron.
    """

    text: str
    minutes: tuple[int, ...]
    days: frozenset[int] | None
    months: frozenset[int]
    weekdays: frozenset[tuple[int, int]] | None
    every_hour: bool
    every_few: bool

    @property
    def once_a_day(self) -> bool:
        """Whether it has one time of day, and fires once where that comes twice."""
        return len(self.minutes) == 1 and not self.every_few

    @property
    def once_a_month(self) -> bool:
        """Whether it has one time of one day of the month."""
        one_day = self.days is not None and len(self.days) == 1 and self.weekdays is None
        return one_day and self.once_a_day

    def after(self, wall: datetime) -> datetime:
        """Return the first time of the pattern that is later than `wall`."""
        day = wall.date()
        if self.includes(day):
            place = bisect_right(self.minutes, wall.hour * 60 + wall.minute)
            if place < len(self.minutes):
                return _at(day, self.minutes[place])
        return _at(self._next_day(day + _DAY), self.minutes[0])

    def before(self, wall: datetime) -> datetime:
        """Return the last time of the pattern that is earlier than `wall`."""
        day = wall.date()
        if self.includes(day):
            begun = wall.second > 0 or wall.microsecond > 0
            place = bisect_left(self.minutes, wall.hour * 60 + wall.minute + begun)
            if place > 0:
                return _at(day, self.minutes[place - 1])
        return _at(self._previous_day(day - _DAY), self.minutes[-1])

    def includes(self, day: date) -> bool:
        """Whether the pattern has times on `day`."""
        if day.month not in self.months:
            return False
        if self.days is None:
            return self.weekdays is None or has_weekday(self.weekdays, day)
        if has_day(self.days, day):
            return True
        return self.weekdays is not None and has_weekday(self.weekdays, day)

    def _next_day(self, day: date) -> date:
        while not self.includes(day):
            spend(1)
            day = self._later(day)
        return day

    def _previous_day(self, day: date) -> date:
        while not self.includes(day):
            spend(1)
            day = self._earlier(day)
        return day

    def _later(self, day: date) -> date:
        """Return a day after `day` before which no other one is of the pattern."""
        if day.month not in self.months:
            later = [month for month in self.months if month > day.month]
            return (
                day.replace(month=min(later), day=1)
                if later
                else day.replace(month=12, day=31) + _DAY
            )
        if self._numbers is None:
            return day + _DAY
        later = [number for number in self._numbers if number > day.day]
        last = _days_in_month(day)
        if later and min(later) <= last:
            return day.replace(day=min(later))
        return day.replace(day=last) + _DAY

    def _earlier(self, day: date) -> date:
        """Return a day before `day` after which no other one is of the pattern."""
        if day.month not in self.months:
            earlier = [month for month in self.months if month < day.month]
            return day.replace(month=max(earlier, default=0) + 1, day=1) - _DAY
        if self._numbers is None:
            return day - _DAY
        earlier = [number for number in self._numbers if number < day.day]
        return day.replace(day=max(earlier)) if earlier else day.replace(day=1) - _DAY

    @property
    def _numbers(self) -> frozenset[int] | None:
        """The days of the month, if these numbers alone say which days are of the pattern."""
        if self.days is None or self.weekdays is not None or LAST in self.days:
            return None
        return self.days


def has_day(days: frozenset[int], day: date) -> bool:
    """Whether the date is one of those days of the month, or its last one for LAST."""
    return day.day in days or (LAST in days and day.day == _days_in_month(day))


def has_weekday(weekdays: frozenset[tuple[int, int]], day: date) -> bool:
    """Whether the date is one of those weekdays, as `read_weekdays` returns them."""
    weekday = day.isoweekday() % 7
    if (weekday, EVERY) in weekdays or (weekday, (day.day + 6) // 7) in weekdays:
        return True
    return (weekday, LAST) in weekdays and day.day + 7 > _days_in_month(day)


def parse(cron: object) -> CronPattern:
    """Read a cron string of five fields, or a preset; TimetableError says what is wrong."""
    if not isinstance(cron, str):
        raise TimetableError(
            f"A cron string is text, for example '30 6 * * MON-FRI'; not {brief(cron)}."
        )
    return _parse(cron)


@lru_cache(maxsize=4096)
def _parse(cron: str) -> CronPattern:
    text = " ".join(PRESETS.get(cron.strip().lower(), cron).split())
    try:
        pattern = _parse_fields(text)
    except TimetableError as error:
        raise TimetableError(f"{brief(cron, 100)} is no cron string: {error}.") from None
    if not _ever_fires(pattern):
        raise TimetableError(
            f"The cron string {brief(cron, 100)} never fires: no month that it names has the day "
            "that it names. For the last day of every month write '0 0 L * *'."
        )
    return pattern


def _parse_fields(text: str) -> CronPattern:
    minute, hour, day, month, weekday = _split(text)
    hours = HOUR.read(hour)
    minutes = MINUTE.read(minute)
    return CronPattern(
        text=text,
        minutes=tuple(sorted(60 * hour + minute for hour in hours for minute in minutes)),
        days=None if day == "?" or is_every(day) else read_days(day),
        months=MONTH.read(month),
        weekdays=None if weekday == "?" or is_every(weekday) else read_weekdays(weekday),
        every_hour=len(hours) == _HOURS_A_DAY,
        every_few=has_star(minute) or has_star(hour),
    )


def _split(text: str) -> list[str]:
    if text.startswith("@"):
        raise TimetableError(f"the presets are {', '.join(PRESETS)}")
    fields = text.upper().split()
    if len(fields) == 6:  # noqa: PLR2004
        raise TimetableError(
            "it has six fields, and seconds are not supported; "
            "write minute, hour, day, month, weekday, for example '30 6 * * MON-FRI'"
        )
    if len(fields) != 5:  # noqa: PLR2004
        raise TimetableError(
            f"it has {len(fields)} fields and needs five: minute, hour, day, month, weekday, "
            "for example '30 6 * * MON-FRI'"
        )
    return fields


def _ever_fires(pattern: CronPattern) -> bool:
    if pattern.days is None or pattern.weekdays is not None:
        return True
    longest = max(monthrange(_LEAP_YEAR, month)[1] for month in pattern.months)
    return min(pattern.days) <= longest


def _at(day: date, minute: int) -> datetime:
    return datetime(day.year, day.month, day.day, *divmod(minute, 60))  # noqa: DTZ001


def _days_in_month(day: date) -> int:
    return monthrange(day.year, day.month)[1]
