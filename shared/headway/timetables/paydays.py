"""Paydays: a day of the month, or the last working day before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import ClassVar, Final, Self
from zoneinfo import ZoneInfo

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError
from headway.timetables import calendars
from headway.timetables.arguments import Arguments
from headway.timetables.days import date_of, day_of, midnight
from headway.timetables.effort import spend
from headway.timetables.recurring import Exact, Grain, Often, Stretch
from headway.timetables.zones import find_zone

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
            raise TimetableError(f"The day of a month is a number from 1 to 31, not {day!r:.60}.")
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

    def tick_after(self, instant: datetime) -> datetime | None:
        """Return the first such midnight later than `instant`."""
        month = date_of(instant, self._zone).replace(day=1)
        while (tick := midnight(self._of_month(month), self._zone)) <= instant:
            month = (month + _LONGEST_MONTH * _DAY).replace(day=1)
        return tick

    def tick_before(self, instant: datetime) -> datetime | None:
        """Return the last such midnight earlier than `instant`."""
        month = (date_of(instant, self._zone).replace(day=1) + _LONGEST_MONTH * _DAY).replace(day=1)
        while (tick := midnight(self._of_month(month), self._zone)) >= instant:
            month = (month - _DAY).replace(day=1)
        return tick

    def stretch(self, instant: datetime, meant: datetime | None = None) -> Stretch:
        """Return whether the instant is on such a day."""
        return day_of(instant, meant, self._zone, self._is_day)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the day, the calendar and the zone."""
        return {"day": self.day, "calendar": self.calendar, "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        day, calendar = arguments.take_whole("day"), arguments.take_optional_text("calendar")
        return cls(day, calendar, arguments.take_optional_text("timezone"))

    def _is_day(self, day: date) -> bool:
        following = (day.replace(day=1) + _LONGEST_MONTH * _DAY).replace(day=1)
        return day in (self._of_month(day.replace(day=1)), self._of_month(following))

    def _of_month(self, first: date) -> date:
        """Return the day of the month that begins on `first`."""
        spend(_A_MONTH)
        following = (first + _LONGEST_MONTH * _DAY).replace(day=1)
        day = min(first + (self.day - 1) * _DAY, following - _DAY)
        for _ in range(_MOST_FREE_DAYS):
            if calendars.is_workday(self.calendar, day):
                return day
            day -= _DAY
        raise TimetableError(f"{self.calendar} has no working day in the month before {day}.")
