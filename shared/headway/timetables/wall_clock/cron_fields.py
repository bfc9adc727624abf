"""The five fields of a cron string, read.

A field is a list of terms parted by commas: `*`, a value, or a range `a-b`, which may wrap
around (`FRI-MON`), each with an optional `/step`.  Months and weekdays have names.  A day
may be `L`, the last of the month; a weekday may be `MON#2`, the second Monday of the month,
or `L5`, its last Friday.
"""

import re
from dataclasses import dataclass
from typing import Final

from headway.domain.errors import TimetableError, brief

LAST: Final = -1
"""Stands for the last day of a month, and for the last weekday of its kind in a month."""

EVERY: Final = 0
"""Stands for every weekday of its kind in a month."""

_LONGEST_NUMBER: Final = 9
"""Digits of a number beyond which it is none that a field takes."""

_TERM = re.compile(r"(?P<low>\*|\w+)(-(?P<high>\w+))?(/(?P<step>\d+))?", re.ASCII)
_NTH = re.compile(r"(?P<day>\w+)#(?P<nth>[1-5])", re.ASCII)
_LAST = re.compile(r"L(?P<after>\d)|(?P<before>\d)L", re.ASCII)


@dataclass(frozen=True, slots=True)
class Field:
    """What one of the five fields may hold.

    Its values form a cycle of `size` from `first` on; `highest` is above the cycle where
    a value has a second number, as Sunday has.
    """

    name: str
    first: int
    highest: int
    size: int
    example: str
    names: tuple[str, ...] = ()
    more: str = ""

    def read(self, text: str) -> frozenset[int]:
        """Return the values that `text` stands for, or raise TimetableError."""
        found = (value for term in text.split(",") for value in self._read_term(term))
        return frozenset(self.first + (value - self.first) % self.size for value in found)

    def error(self, text: str) -> TimetableError:
        """Return the error that says what this field may hold."""
        names = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
        return TimetableError(
            f"the {self.name} field cannot be {brief(text)}: it takes {self.first} to "
            f"{self.highest}{names}, for example {self.example!r}{self.more}"
        )

    def _read_term(self, text: str) -> range:
        term = _TERM.fullmatch(text)
        if term is None or (term["low"] == "*" and term["high"]):
            raise self.error(text)
        step = self._number(term["step"] or "1", text)
        if step == 0:
            raise self.error(text)
        end = self.first + self.size
        if term["low"] == "*":
            return range(self.first, end, step)
        low = self._value(term["low"])
        if term["high"]:
            high = self._value(term["high"])
            return range(low, high + 1 if low <= high else high + self.size + 1, step)
        return range(low, end if term["step"] and low < end else low + 1, step)

    def _value(self, text: str) -> int:
        if text in self.names:
            return self.first + self.names.index(text)
        number = self._number(text, text)
        if not self.first <= number <= self.highest:
            raise self.error(text)
        return number

    def _number(self, text: str, term: str) -> int:
        if not text.isdecimal() or len(text) > _LONGEST_NUMBER:
            raise self.error(term)
        return int(text)


_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

MINUTE: Final = Field("minute", 0, 59, 60, "*/15")
HOUR: Final = Field("hour", 0, 23, 24, "9-17")
DAY: Final = Field(
    name="day",
    first=1,
    highest=31,
    size=31,
    example="1,15",
    more=" or 'L' (the last day of the month); for the workday nearest to a day (W) there is "
    "the timetable LastWorkdayOnOrBefore",
)
MONTH: Final = Field("month", 1, 12, 12, "JAN-MAR", _MONTHS)
WEEKDAY: Final = Field(
    name="weekday",
    first=0,
    highest=7,
    size=7,
    example="MON-FRI",
    names=_WEEKDAYS,
    more=", 'MON#2' (the second Monday of the month) or 'L5' (its last Friday)",
)


def is_every(text: str) -> bool:
    """Whether a field is not restricted: `*`, or `*/1`, which is the same, or a list with one."""
    return not {"*", "*/1"}.isdisjoint(text.split(","))


def has_star(text: str) -> bool:
    """Whether a term of the field is `*`, or `*/n`, wherever in the list it stands."""
    return any(term.startswith("*") for term in text.split(","))


def read_days(text: str) -> frozenset[int]:
    """Return the days of the month that `text` stands for; LAST is the last one."""
    days: frozenset[int] = frozenset()
    for term in text.split(","):
        days |= {LAST} if term == "L" else DAY.read(term)
    return days


def read_weekdays(text: str) -> frozenset[tuple[int, int]]:
    """Return pairs of a weekday (Sunday is 0) and which one of the month: 1 to 5, LAST, EVERY."""
    weekdays: frozenset[tuple[int, int]] = frozenset()
    for term in text.split(","):
        plain, which = _which_of_month(term)
        weekdays |= {(day, which) for day in WEEKDAY.read(plain)}
    return weekdays


def _which_of_month(term: str) -> tuple[str, int]:
    if nth := _NTH.fullmatch(term):
        return nth["day"], int(nth["nth"])
    if last := _LAST.fullmatch(term):
        return last["after"] or last["before"], LAST
    return term, EVERY
