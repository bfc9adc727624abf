"""Calendars of countries and exchanges, from packages that need not be installed."""

import re
from collections.abc import Set
from dataclasses import dataclass
from datetime import MAXYEAR, date
from functools import lru_cache
from types import ModuleType
from typing import Any, Final

from headway.domain.errors import TimetableError, brief

_FRIDAY: Final = 5
_COUNTRY: Final = re.compile(r"[A-Z]{2,3}(-[A-Z0-9]{1,4})?", re.ASCII)
_LONGEST_CODE: Final = 20
_SPAN: Final = 10
"""Years whose trading days are found at a time; that takes about as long as for one."""


@dataclass(frozen=True, slots=True)
class KnownDays:
    """The first and the last day that a calendar has data for, and the package that it is of."""

    calendar: str
    first: date
    last: date
    package: str

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last

    @property
    def remark(self) -> str:
        """What to tell people who miss a run outside of these days."""
        return (
            f"The calendar {self.calendar!r} has data from {self.first} to {self.last} and no days "
            f"outside of that; a newer release of the package {self.package} may know more."
        )


def check_code(code: object) -> None:
    """Raise TimetableError unless `code` has the form of one, known or not."""
    if not isinstance(code, str) or not 0 < len(code) <= _LONGEST_CODE:
        raise TimetableError(
            f"A calendar is a code such as 'US', 'DE-BY' or 'XNYS', not {brief(code)}."
        )


def check_country(code: str | None) -> None:
    """Raise TimetableError unless the holidays of that country are known here."""
    if code is not None:
        _country(code)


def is_workday(code: str | None, day: date) -> bool | None:
    """Whether people work in a country on that day: without one, from Monday to Friday.

    None where the calendar has no data for the day; so it is for the other calendars.
    """
    if code is None:
        return day.isoweekday() <= _FRIDAY
    return bool(_country(code).is_working_day(day)) if day in country_data(code) else None


def is_holiday(code: str, day: date) -> bool | None:
    """Whether a day is a public holiday of a country."""
    return day in _country(code) if day in country_data(code) else None


@lru_cache(maxsize=256)
def country_data(code: str) -> KnownDays:
    """Return the days that the calendar of a country has data for."""
    found = _country(code)
    first, last = max(found.start_year, 1), min(found.end_year, MAXYEAR)
    return KnownDays(code, date(first, 1, 1), date(last, 12, 31), "holidays")


def check_exchange(code: str) -> None:
    """Raise TimetableError unless the calendar of that exchange is known."""
    exchanges = package("exchange_calendars", "exchanges", "TradingDays")
    if code not in exchanges.get_calendar_names(include_aliases=False):
        raise TimetableError(
            f"{brief(code)} is no exchange; give an ISO 10383 code, for example 'XNYS' (New York), "
            "'XLON' (London) or 'XTKS' (Tokyo)."
        )


def is_open(exchange: str, day: date) -> bool | None:
    """Whether an exchange is open on that day."""
    if day not in exchange_data(exchange):
        return None
    return day in _sessions(exchange, day.year // _SPAN)


@lru_cache(maxsize=256)
def exchange_data(exchange: str) -> KnownDays:
    """Return the days that the calendar of an exchange has data for.

    The holidays of all exchanges are made by rules that pandas applies to some years only; outside
    of them every weekday would be a trading day.
    """
    kind, rules = _kind(exchange), package("pandas.tseries.holiday", "exchanges", "TradingDays")
    least, most = kind.bound_min(), kind.bound_max()
    first = rules.AbstractHolidayCalendar.start_date.date()
    last = rules.AbstractHolidayCalendar.end_date.date()
    return KnownDays(
        exchange,
        first if least is None else max(first, least.date()),
        last if most is None else min(last, most.date()),
        "exchange-calendars",
    )


@lru_cache(maxsize=256)
def _sessions(exchange: str, span: int) -> Set[date]:
    """Return the days of so many years on which an exchange is open, as far as it is known."""
    kind, known = _kind(exchange), exchange_data(exchange)
    # A calendar cannot begin or end within a few days: a year more is asked for at either end.
    start = max(date(span * _SPAN - 1, 1, 1), known.first)
    end = min(date((span + 1) * _SPAN, 12, 31), known.last)
    return frozenset(moment.date() for moment in kind(start=str(start), end=str(end)).sessions)


@lru_cache(maxsize=256)
def _kind(exchange: str) -> Any:
    return type(package("exchange_calendars", "exchanges", "TradingDays").get_calendar(exchange))


def package(name: str, extra: str, wanted_by: str) -> ModuleType:
    """Return an optional package, or raise the TimetableError that names its extra."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise TimetableError(
            f"{wanted_by} needs the package {name}, which is not installed here: "
            f"pip install 'headway[{extra}]' where parsers and schedulers run."
        ) from None


@lru_cache(maxsize=256)
def _country(code: str) -> Any:
    """Return the holidays of a country, by ISO 3166 code with or without a subdivision."""
    holidays = package("holidays", "holidays", "A calendar of a country")
    name, _, subdivision = code.partition("-")
    try:
        if not _COUNTRY.fullmatch(code):  # the package would look for any other name of its own
            raise ValueError("a code is two or three capital letters")
        return holidays.country_holidays(name, subdiv=subdivision or None, language=None)
    except (NotImplementedError, TypeError, ValueError) as error:
        capital = code.upper()
        meant = capital != code and capital.partition("-")[0] in holidays.list_supported_countries()
        hint = f" Did you mean {capital!r}?" if meant else ""
        raise TimetableError(
            f"{code[:60]!r} is no country with known holidays ({error}); give an ISO 3166 code, "
            f"for example 'US' or 'GB', or one with a subdivision, for example 'DE-BY'.{hint}"
        ) from None
