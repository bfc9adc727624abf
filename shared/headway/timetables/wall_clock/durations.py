"""Durations that a schedule is made of: elapsed time, or days and months of the calendar."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import MAXYEAR, datetime, timedelta
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from headway.domain.errors import TimetableError, brief
from headway.timetables.wall_clock.zones import first_at

_ISO: Final = re.compile(
    r"(?P<sign>-?)P(?!$)((?P<years>\d+)Y)?((?P<months>\d+)M)?((?P<weeks>\d+)W)?((?P<days>\d+)D)?"
    r"(T(?!$)((?P<hours>\d+)H)?((?P<minutes>\d+)M)?((?P<seconds>\d+(\.\d{1,6})?)S)?)?",
    re.ASCII,
)
_LONGEST_TEXT: Final = 60
_CALENDAR: Final = ("years", "months", "days")
_CLOCK: Final = ("hours", "minutes", "seconds", "microseconds")
_ABSOLUTE: Final = ("year", "month", "day", "hour", "minute", "second", "microsecond", "weekday")
_MONTHS_A_YEAR: Final = 12
_NONE: Final = timedelta(0)


@dataclass(frozen=True, slots=True)
class Period:
    """Months and days of the calendar of a place, and elapsed time after them.

    A month later is the same day of the next month, or its last one where that has no such
    day; how long it takes depends on when it begins, and on changes of the clocks.
    """

    months: int = 0
    days: int = 0
    rest: timedelta = _NONE

    def after(
        self, instant: datetime, zone: ZoneInfo, times: int = 1, *, wall: datetime | None = None
    ) -> datetime:
        """Return the instant so many periods after `instant`, or before it, in UTC.

        Days are counted from `wall`, the wall-clock time that it stands for: what clocks show
        then, unless they have skipped that.
        """
        if not self.months and not self.days:
            return instant + self.rest * times
        wall = wall or instant.astimezone(zone).replace(tzinfo=None)
        wall = _add_months(wall, self.months * times) + timedelta(days=self.days * times)
        return first_at(wall, zone) + self.rest * times

    @property
    def about(self) -> timedelta:
        """How long it is on average."""
        return timedelta(days=self.months * 30.436875 + self.days) + self.rest

    def __str__(self) -> str:
        months = f"{self.months}M" if self.months else ""
        days = f"{self.days}D" if self.days else ""
        seconds = self.rest / timedelta(seconds=1)
        rest = f"T{seconds:f}".rstrip("0").rstrip(".") + "S" if self.rest else ""
        return f"P{months}{days}{rest}" if months or days or rest else "PT0S"


Length: TypeAlias = timedelta | Period
Duration: TypeAlias = timedelta | Period | str
"""What an author may write for a length; a str is ISO 8601 text."""


def read_length(what: str, value: object, *, signed: bool = False) -> Length:
    """Return the duration that `value` is, or raise TimetableError; `what` names it.

    It may be a timedelta, ISO 8601 text such as 'P1D', a Period, or what has the fields
    of a relativedelta.  What says days or months of the calendar comes back as a Period,
    anything else as a timedelta.  Unless it is `signed` it must be longer than zero.
    """
    length = _read(what, value)
    if not signed and (length if isinstance(length, timedelta) else length.about) <= _NONE:
        raise TimetableError(f"{what} must be longer than zero; it is {length}.")
    return length


def is_duration(value: object) -> bool:
    """Whether `value` is a duration, or has the fields of a relativedelta."""
    return isinstance(value, timedelta | Period) or _is_relative(value)


def in_calendar(length: Duration) -> Period:
    """Return a duration that was read as a period whose days are those of the calendar."""
    assert not isinstance(length, str)
    if isinstance(length, Period):
        return length
    return Period(0, length.days, length - timedelta(days=length.days))


def to_data(length: Duration) -> float | str:
    """Return a duration that was read as it is stored: in seconds, or a period as text."""
    return length.total_seconds() if isinstance(length, timedelta) else str(length)


def _read(what: str, value: object) -> Length:
    try:
        if isinstance(value, Period):
            return value
        if isinstance(value, str):
            return _of_text(what, value)
        if isinstance(value, timedelta):
            return _of_timedelta(value)
        if _is_relative(value):
            return _of_relative(what, value)
    except OverflowError:
        raise TimetableError(f"{what} is too long: {brief(value)}.") from None
    raise TimetableError(
        f"{what} must be a timedelta, for example timedelta(hours=6), an ISO 8601 duration "
        f"such as 'P1D', or a relativedelta; not {brief(value)}."
    )


def _of_text(what: str, text: str) -> Length:
    found = _ISO.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if found is None:
        raise TimetableError(
            f"{what} cannot be {text[:_LONGEST_TEXT]!r}: write an ISO 8601 duration, for example "
            "'PT6H', 'P1D', 'P1M' or 'P1DT12H'."
        )
    parts = found.groupdict(default="0")
    sign = -1 if parts["sign"] == "-" else 1
    months = int(parts["years"]) * _MONTHS_A_YEAR + int(parts["months"])
    days = int(parts["weeks"]) * 7 + int(parts["days"])
    rest = timedelta(
        hours=int(parts["hours"]), minutes=int(parts["minutes"]), seconds=float(parts["seconds"])
    )
    return _simplest(sign * months, sign * days, sign * rest)


def _of_timedelta(value: timedelta) -> Length:
    """Return it as a plain timedelta; a Duration of pendulum may have months besides."""
    years, months = getattr(value, "years", 0), getattr(value, "months", 0)
    plain = timedelta(seconds=value.total_seconds())
    if type(value) is timedelta:
        return value
    if not years and not months:
        return plain
    rest = plain - timedelta(days=365 * years + 30 * months)
    return Period(years * _MONTHS_A_YEAR + months, rest.days, rest - timedelta(days=rest.days))


def _is_relative(value: object) -> bool:
    names = (*_CALENDAR, *_CLOCK)
    return not isinstance(value, type) and all(
        isinstance(getattr(value, name, None), int | float) for name in names
    )


def _of_relative(what: str, value: object) -> Length:
    fixed = any(getattr(value, name, None) is not None for name in _ABSOLUTE)
    if fixed or getattr(value, "leapdays", None):
        raise TimetableError(f"{what} must be a length of time, not a date: {brief(value)}.")
    years, months, days = (getattr(value, name) for name in _CALENDAR)
    rest = timedelta(**{name: getattr(value, name) for name in _CLOCK})
    if any(number != int(number) for number in (years, months, days)):
        raise TimetableError(f"{what} must have whole years, months and days; not {brief(value)}.")
    return _simplest(int(years) * _MONTHS_A_YEAR + int(months), int(days), rest)


def _simplest(months: int, days: int, rest: timedelta) -> Length:
    timedelta(days=days), timedelta(days=months * 31)  # OverflowError for what no date can bear
    return Period(months, days, rest) if months or days else rest


def _add_months(wall: datetime, months: int) -> datetime:
    if not months:
        return wall
    year, month = divmod(wall.year * _MONTHS_A_YEAR + wall.month - 1 + months, _MONTHS_A_YEAR)
    if not 1 <= year <= MAXYEAR:
        raise OverflowError("beyond the calendar")
    day = min(wall.day, monthrange(year, month + 1)[1])
    return wall.replace(year=year, month=month + 1, day=day)
