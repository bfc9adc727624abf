"""Paydays: a day of the month, or the last working day before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import ClassVar, Final, Self
from zoneinfo import ZoneInfo

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError, brief
from headway.timetables.base import Arguments
from headway.timetables.kinds import calendars
from headway.timetables.kinds.calendars import KnownDays
from headway.timetables.kinds.days import date_of, day_of, midnight
from headway.timetables.kinds.recurring import Exact, Grain, Often, Stretch
from headway.timetables.wall_clock.effort import spend
from headway.timetables.wall_clock.zones import find_zone

_DAY: Final = timedelta(days=1)
_MOST_FREE_DAYS: Final = 31
_LONGEST_MONTH: Final = 31
_A_MONTH: Final = 40
"""The work to find the day of one."""


@dataclass(frozen=True, slots=True)
class LastWorkdayOnOrBefore(Exact):
    """Runs once a month, at the midnight that begins the last working day by the day `day`.

    Payday is often the 15th, or the last working day before.  A month that has no such day
    counts from its last one.  For a time of day write `CronTimetable("0 9 * * *") &
    LastWorkdayOnOrBefore(15)`.
    """

    name: ClassVar[str] = "last_workday"

    day: int
    calendar: str | None = None
    timezone: str | None = None
    _zone: ZoneInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.calendar is not None:
            calendars.check_code(self.calendar)
        day = self.day
        if isinstance(day, bool) or not isinstance(day, int) or not 1 <= day <= _LONGEST_MONTH:
            raise TimetableError(f"The day of a month is a number from 1 to 31, not {brief(day)}.")
        object.__setattr__(self, "_zone", find_zone(self.timezone or "UTC"))

    @property
    def summary(self) -> str:
        """The day, and where."""
        where = "" if self.calendar is None else f" in {self.calendar}"
        return f"last workday{where} on or before day {self.day}"

    @property
    def often(self) -> Often:
        """Once a month."""
        return Often.ONCE_A_MONTH

    @property
    def grain(self) -> Grain:
        """Days."""
        return Grain.DAYS

    def in_zone(self, timezone: str) -> "LastWorkdayOnOrBefore":
        """Return it in that zone, unless it has one of its own."""
        return self if self.timezone else LastWorkdayOnOrBefore(self.day, self.calendar, timezone)

    def check(self) -> None:
        """Raise TimetableError unless the calendar is known here."""
        calendars.check_country(self.calendar)

    @property
    def known(self) -> KnownDays | None:
        """The days that the calendar has data for, None for Monday to Friday."""
        return None if self.calendar is None else calendars.country_data(self.calendar)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Where the calendar begins and ends."""
        return () if self.known is None else (self.known.remark,)

    def tick_after(self, instant: datetime) -> datetime | None:
        """Return the first such midnight later than `instant`."""
        month, known = date_of(instant, self._zone).replace(day=1), self.known
        if known is not None:
            month = max(month, known.first.replace(day=1))
        while known is None or month <= known.last:
            tick = self._tick(month)
            if tick is not None and tick > instant:
                return tick
            month = _month_after(month)
        return None

    def tick_before(self, instant: datetime) -> datetime | None:
        """Return the last such midnight earlier than `instant`."""
        month, known = _month_after(date_of(instant, self._zone).replace(day=1)), self.known
        if known is not None:
            month = min(month, known.last.replace(day=1))
        while known is None or month >= known.first.replace(day=1):
            tick = self._tick(month)
            if tick is not None and tick < instant:
                return tick
            month = (month - _DAY).replace(day=1)
        return None

    def stretch(self, instant: datetime, meant: datetime | None = None) -> Stretch:
        """Return whether the instant is on such a day."""
        return day_of(instant, meant, self._zone, self._is_day, self.known)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the day, the calendar and the zone."""
        return {"day": self.day, "calendar": self.calendar, "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        day, calendar = arguments.take_whole("day"), arguments.take_optional_text("calendar")
        return cls(day, calendar, arguments.take_optional_text("timezone"))

    def _is_day(self, day: date) -> bool:
        first = day.replace(day=1)
        return day in (self._of_month(first), self._of_month(_month_after(first)))

    def _tick(self, first: date) -> datetime | None:
        day = self._of_month(first)
        return None if day is None else midnight(day, self._zone)

    def _of_month(self, first: date) -> date | None:
        """Return the day of the month that begins on `first`, None where it is not known."""
        spend(_A_MONTH)
        day = min(first + (self.day - 1) * _DAY, _month_after(first) - _DAY)
        for _ in range(_MOST_FREE_DAYS):
            works = calendars.is_workday(self.calendar, day)
            if works is not False:
                return day if works else None
            day -= _DAY
        raise TimetableError(f"{self.calendar} has no working day in the month before {day}.")


def _month_after(first: date) -> date:
    """Return the first day of the month after the one that begins on `first`."""
    return (first + _LONGEST_MONTH * _DAY).replace(day=1)
