"""Timetables of days that a calendar knows: workdays, holidays, trading days."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import ClassVar, Final, Self
from zoneinfo import ZoneInfo

from headway.domain.arguments import JsonValue
from headway.domain.interval import DataInterval
from headway.timetables.base import Arguments
from headway.timetables.kinds import calendars
from headway.timetables.kinds.calendars import KnownDays
from headway.timetables.kinds.recurring import INSTANT, Grain, Often, Recurring, Stretch
from headway.timetables.wall_clock.durations import Period
from headway.timetables.wall_clock.effort import spend
from headway.timetables.wall_clock.zones import find_zone, first_at, shown

_DAY: Final = timedelta(days=1)
_MOST_DAYS: Final = 800
"""Days that are looked at for one that is in the calendar."""


class _Days(Recurring):
    """Runs over each day of a calendar, as soon as that day is over."""

    __slots__ = ()

    timezone: str | None
    _zone: ZoneInfo
    _a_day: ClassVar[int] = 20
    """The work to look at one."""

    @abstractmethod
    def has(self, day: date) -> bool | None:
        """Whether the calendar has that day; None where it has no data for it."""

    @property
    def known(self) -> KnownDays | None:
        """The days that the calendar has data for, None for all."""
        return None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Where the calendar begins and ends."""
        return () if self.known is None else (self.known.remark,)

    @property
    def partitions(self) -> bool:
        """A day does not overlap another one."""
        return True

    @property
    def length(self) -> Period | None:
        """A day."""
        return Period(days=1)

    @property
    def often(self) -> Often:
        """Once a day."""
        return Often.ONCE_A_DAY

    @property
    def grain(self) -> Grain:
        """Days."""
        return Grain.DAYS

    def first_from(self, earliest: datetime) -> DataInterval | None:
        """Return the first day that starts at or after `earliest`."""
        day, known = date_of(earliest, self._zone), self.known
        if known is not None:
            day = max(day, known.first)
        for _ in range(_MOST_DAYS):
            if known is not None and day > known.last:
                return None
            spend(self._a_day)
            if (whole := self._whole(day)) and whole.start >= earliest:
                return whole
            day += _DAY
        return None

    def following(self, last: DataInterval) -> DataInterval | None:
        """Return the first day that starts when `last` is over, or later."""
        return self.first_from(last.end)

    def last_starting(self, before: datetime) -> DataInterval | None:
        """Return the last day that starts before `before`."""
        day, known = date_of(before, self._zone), self.known
        if known is not None:
            day = min(day, known.last)
        for _ in range(_MOST_DAYS):
            if known is not None and day < known.first:
                return None
            spend(self._a_day)
            if (whole := self._whole(day)) and whole.start < before:
                return whole
            day -= _DAY
        return None

    def stretch(self, instant: datetime, meant: datetime | None = None) -> Stretch:
        """Return whether the instant is on one of the days."""
        spend(self._a_day)
        return day_of(instant, meant, self._zone, self.has, self.known)

    def _whole(self, day: date) -> DataInterval | None:
        """Return a day of the calendar, unless clocks have skipped all of it."""
        if not self.has(day):
            return None
        start, end = midnight(day, self._zone), midnight(day + _DAY, self._zone)
        return DataInterval(start, end) if start < end else None


@dataclass(frozen=True, slots=True)
class Workdays(_Days):
    """Runs over each working day: Monday to Friday, or as in the country of `calendar`.

    A calendar is the code of a country (ISO 3166), maybe with a subdivision: "US", "DE-BY".
    It knows the weekend and the public holidays there (extra `holidays`).
    """

    name: ClassVar[str] = "workdays"

    calendar: str | None = None
    timezone: str | None = None
    _zone: ZoneInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.calendar is not None:
            calendars.check_code(self.calendar)
        object.__setattr__(self, "_zone", find_zone(self.timezone or "UTC"))

    @property
    def summary(self) -> str:
        """Where."""
        return "workdays" if self.calendar is None else f"workdays in {self.calendar}"

    def in_zone(self, timezone: str) -> "Workdays":
        """Return it in that zone, unless it has one of its own."""
        return self if self.timezone else Workdays(self.calendar, timezone)

    def check(self) -> None:
        """Raise TimetableError unless the calendar is known here."""
        calendars.check_country(self.calendar)

    @property
    def known(self) -> KnownDays | None:
        """The days that the calendar has data for, None for Monday to Friday."""
        return None if self.calendar is None else calendars.country_data(self.calendar)

    def has(self, day: date) -> bool | None:
        """Whether people work on that day."""
        return calendars.is_workday(self.calendar, day)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the calendar and the zone."""
        return {"calendar": self.calendar, "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        calendar = arguments.take_optional_text("calendar")
        return cls(calendar, arguments.take_optional_text("timezone"))


@dataclass(frozen=True, slots=True)
class Holidays(_Days):
    """Runs over each public holiday of a country, such as "US" or "DE-BY" (extra `holidays`)."""

    name: ClassVar[str] = "holidays"

    calendar: str
    timezone: str | None = None
    _zone: ZoneInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        calendars.check_code(self.calendar)
        object.__setattr__(self, "_zone", find_zone(self.timezone or "UTC"))

    @property
    def summary(self) -> str:
        """Where."""
        return f"holidays in {self.calendar}"

    def in_zone(self, timezone: str) -> "Holidays":
        """Return it in that zone, unless it has one of its own."""
        return self if self.timezone else Holidays(self.calendar, timezone)

    def check(self) -> None:
        """Raise TimetableError unless the calendar is known here."""
        calendars.check_country(self.calendar)

    @property
    def known(self) -> KnownDays | None:
        """The days that the calendar has data for."""
        return calendars.country_data(self.calendar)

    def has(self, day: date) -> bool | None:
        """Whether that day is a public holiday."""
        return calendars.is_holiday(self.calendar, day)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the calendar and the zone."""
        return {"calendar": self.calendar, "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        calendar = arguments.take_text("calendar")
        return cls(calendar, arguments.take_optional_text("timezone"))


@dataclass(frozen=True, slots=True)
class TradingDays(_Days):
    """Runs over each day on which an exchange is open, such as "XNYS" (extra `exchanges`).

    An exchange is named by its ISO 10383 code; days are those of the zone, midnight to midnight.
    """

    name: ClassVar[str] = "trading_days"
    _a_day: ClassVar[int] = 100

    exchange: str
    timezone: str | None = None
    _zone: ZoneInfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        calendars.check_code(self.exchange)
        object.__setattr__(self, "_zone", find_zone(self.timezone or "UTC"))

    @property
    def summary(self) -> str:
        """Where."""
        return f"trading days of {self.exchange}"

    def in_zone(self, timezone: str) -> "TradingDays":
        """Return it in that zone, unless it has one of its own."""
        return self if self.timezone else TradingDays(self.exchange, timezone)

    def check(self) -> None:
        """Raise TimetableError unless the calendar is known here."""
        calendars.check_exchange(self.exchange)

    @property
    def known(self) -> KnownDays | None:
        """The days that the calendar has data for."""
        return calendars.exchange_data(self.exchange)

    def has(self, day: date) -> bool | None:
        """Whether the exchange is open on that day."""
        return calendars.is_open(self.exchange, day)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the exchange and the zone."""
        return {"exchange": self.exchange, "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        exchange = arguments.take_text("exchange")
        return cls(exchange, arguments.take_optional_text("timezone"))


def date_of(instant: datetime, zone: ZoneInfo) -> date:
    """Return what day it is in the zone."""
    return instant.astimezone(zone).date()


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """Return the instant at which a day begins in the zone."""
    return first_at(datetime(day.year, day.month, day.day), zone)  # noqa: DTZ001


def day_of(
    instant: datetime,
    meant: datetime | None,
    zone: ZoneInfo,
    has: Callable[[date], bool | None],
    known: KnownDays | None,
) -> Stretch:
    """Return whether a calendar has the day of an instant, which holds for all of the day.

    Outside of the days that are `known` that is not known.
    """
    day = date_of(instant, zone)
    if known is not None and day < known.first:
        return Stretch(None, None, midnight(known.first, zone))
    if known is not None and day > known.last:
        return Stretch(None, midnight(known.last + _DAY, zone), None)
    if (skipped := shown(instant, meant, zone).date()) != day:
        return Stretch(has(skipped), instant, instant + INSTANT)
    return Stretch(has(day), midnight(day, zone), midnight(day + _DAY, zone))
