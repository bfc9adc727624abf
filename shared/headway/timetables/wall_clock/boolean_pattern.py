"""Expressions of hours, minutes, weekdays, days and months, as wall-clock times.

An expression is a tuple: a field with the text of a cron field, `("hours", "3,9,18")`, or
`("not", a)`, `("and", a, b, …)`, `("or", a, b, …)`.  It holds for a minute or does not; a
field that is not named holds for any.  The minutes of a day are a number of 1,440 bits.
"""

from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from functools import lru_cache, reduce
from operator import and_, or_
from typing import Final, TypeAlias

from headway.domain.errors import TimetableError
from headway.timetables.wall_clock.cron_fields import HOUR, MINUTE, MONTH, read_days, read_weekdays
from headway.timetables.wall_clock.cron_pattern import has_day, has_weekday
from headway.timetables.wall_clock.effort import spend

Expression: TypeAlias = tuple["str | Expression", ...]
_Test: TypeAlias = Callable[[date], int]

FIELDS: Final = frozenset({"hours", "minutes", "weekdays", "days", "months"})

MOST_TERMS: Final = 200
"""Fields and operators of one expression beyond which it is refused."""

DEEPEST: Final = 32
"""Levels of operators beyond which an expression is refused."""

_TERMS_AT_ONCE: Final = 32
"""Terms that are as much work on a day as the day itself, which comes again and is remembered."""

_A_FIELD: Final = 20
"""The work to read one."""

_A_DAY: Final = 1440
_ALL: Final = (1 << _A_DAY) - 1
_DAY: Final = timedelta(days=1)
_MOST_DAYS: Final = 366 * 41
"""Days within which every date has been every weekday."""


class BooleanPattern:
    """The wall-clock minutes that an expression holds for."""

    def __init__(self, expression: Expression) -> None:
        names = list(_names(expression))
        self.every_hour = "hours" not in names
        self.every_few = "minutes" not in names
        self._test = _compile(expression)
        self._work = 1 + len(names) // _TERMS_AT_ONCE
        self._known: dict[tuple[int, int, int, int], int] = {}

    def has(self, wall: datetime) -> bool:
        """Whether the expression holds for the minute of `wall`."""
        return bool(self._of(wall.date()) >> (wall.hour * 60 + wall.minute) & 1)

    def after(self, wall: datetime) -> datetime:
        """Return the first minute that is later than `wall`; OverflowError without one."""
        day, least = wall.date(), wall.hour * 60 + wall.minute + 1
        for _ in range(_MOST_DAYS):
            spend(self._work)
            if left := self._of(day) >> least:
                return _at(day, least + (left & -left).bit_length() - 1)
            day, least = day + _DAY, 0
        raise OverflowError("the expression holds for no minute")

    def before(self, wall: datetime) -> datetime:
        """Return the last minute that is earlier than `wall`; OverflowError without one."""
        begun = wall.second > 0 or wall.microsecond > 0
        day, most = wall.date(), wall.hour * 60 + wall.minute + begun
        for _ in range(_MOST_DAYS):
            spend(self._work)
            if left := self._of(day) & ((1 << most) - 1):
                return _at(day, left.bit_length() - 1)
            day, most = day - _DAY, _A_DAY
        raise OverflowError("the expression holds for no minute")

    def _of(self, day: date) -> int:
        """Return the minutes of a day, as bits."""
        key = (day.month, day.day, day.weekday(), monthrange(day.year, day.month)[1])
        if key not in self._known:
            self._known[key] = self._test(day)
        return self._known[key]


def check_size(expression: Expression) -> None:
    """Raise TimetableError unless it has a bounded number of parts and of levels."""
    terms = sum(1 for _ in _names(expression))
    if terms > MOST_TERMS or _levels(expression) > DEEPEST:
        raise TimetableError(
            f"A boolean expression has at most {MOST_TERMS} fields and operators, {DEEPEST} levels "
            "deep. Name several values in one field, for example Hours(3, 9, 18) or Minutes('*/5')."
        )


def check_expression(expression: Expression) -> None:
    """Raise TimetableError unless it can be read, is of bounded size, and holds now and then."""
    check_size(expression)
    try:
        BooleanPattern(expression).after(datetime(2000, 1, 1))  # noqa: DTZ001
    except OverflowError:
        raise TimetableError(
            f"The expression {write(expression)} holds for no minute at all: no minute of any "
            "day has all that it asks for."
        ) from None


def write(expression: Expression, inside: str = "or") -> str:
    """Return an expression as it is written in Python."""
    kind, *parts = expression
    if kind in FIELDS:
        values = (v if v.isdecimal() else repr(v) for v in str(parts[0]).split(","))
        return f"{str(kind).capitalize()}({', '.join(values)})"
    inner = [write(part, str(kind)) for part in parts if not isinstance(part, str)]
    if kind == "not":
        return f"~{inner[0]}"
    text = (" & " if kind == "and" else " | ").join(inner)
    return f"({text})" if inside == "not" or (inside, kind) == ("and", "or") else text


def _names(expression: Expression) -> Iterator[str]:
    kind, *parts = expression
    yield str(kind)
    for part in parts:
        if not isinstance(part, str):
            yield from _names(part)


def _levels(expression: Expression) -> int:
    return 1 + max((_levels(part) for part in expression if not isinstance(part, str)), default=0)


def _compile(expression: Expression) -> _Test:
    """Return a function that tells the minutes of a day, as bits."""
    kind, *parts = expression
    text = parts[0]
    if isinstance(text, str):
        return _field(str(kind), text.upper())
    tests = [_compile(part) for part in parts if not isinstance(part, str)]
    if kind == "not":
        return lambda day: _ALL & ~tests[0](day)
    join, start = (and_, _ALL) if kind == "and" else (or_, 0)
    return lambda day: reduce(join, (test(day) for test in tests), start)


def _field(kind: str, text: str) -> _Test:
    spend(_A_FIELD)
    return _read_field(kind, text)


@lru_cache(maxsize=4096)
def _read_field(kind: str, text: str) -> _Test:
    """Return a function that tells the minutes of a day.

    It is remembered: an expression is compiled anew for each term that is joined to it.
    """
    try:
        match kind:
            case "hours":
                return _always(60 * hour + m for hour in HOUR.read(text) for m in range(60))
            case "minutes":
                return _always(60 * hour + m for m in MINUTE.read(text) for hour in range(24))
            case "weekdays":
                weekdays = read_weekdays(text)
                return lambda day: _ALL if has_weekday(weekdays, day) else 0
            case "days":
                days = read_days(text)
                return lambda day: _ALL if has_day(days, day) else 0
            case _:
                months = MONTH.read(text)
                return lambda day: _ALL if day.month in months else 0
    except TimetableError as error:
        raise TimetableError(f"{kind.capitalize()}({text}): {error}.") from None


def _always(minutes: Iterator[int]) -> _Test:
    bits = sum(1 << minute for minute in minutes)
    return lambda day: bits  # noqa: ARG005


def _at(day: date, minute: int) -> datetime:
    return datetime(day.year, day.month, day.day, *divmod(minute, 60))  # noqa: DTZ001
