"""Boolean time: `Hours(3, 9, 18) & Minutes(2, 30, 19) | Hours(17) & Minutes(0, 15, 45)`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import ClassVar, Final, Self, overload

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError, brief
from headway.timetables.base import LONGEST_TEXT, Arguments
from headway.timetables.kinds.recurring import INSTANT, Exact, Grain, Recurring, Stretch
from headway.timetables.wall_clock.boolean_pattern import (
    DEEPEST,
    FIELDS,
    MOST_TERMS,
    BooleanPattern,
    Expression,
    check_expression,
    check_size,
    write,
)
from headway.timetables.wall_clock.ticks import Ticks, meant_at
from headway.timetables.wall_clock.zones import find_zone, shown

_TWO: Final = 2
_HIGHEST: Final = 59
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class BooleanTimetable(Exact):
    """Runs at every minute that an expression holds for; each run is about its own instant.

    `Hours`, `Minutes`, `Weekdays`, `Days` and `Months` make one, `&`, `|` and `~` join them.
    A field that is not named holds for any: `Hours(3)` is each of the sixty minutes from three
    on.  The zone is the DAG's unless `timezone` names another one.
    """

    name: ClassVar[str] = "boolean"

    expression: Expression
    timezone: str | None = None
    _ticks: Ticks = field(init=False, repr=False, compare=False)
    _pattern: BooleanPattern = field(init=False, repr=False, compare=False)
    _changes: tuple[Ticks, Ticks] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_size(self.expression)
        pattern = BooleanPattern(self.expression)
        zone = find_zone("UTC" if self.timezone is None else self.timezone)
        object.__setattr__(self, "_pattern", pattern)
        object.__setattr__(self, "_ticks", Ticks(pattern, zone))
        others = BooleanPattern(("not", self.expression))
        object.__setattr__(
            self, "_changes", (Ticks(others, zone, True), Ticks(pattern, zone, True))
        )

    @property
    def summary(self) -> str:
        """The expression."""
        return write(self.expression)

    @property
    def grain(self) -> Grain:
        """Times, or days where neither hours nor minutes are named."""
        pattern = self._pattern
        of_days = pattern.every_hour and pattern.every_few
        return Grain.MINUTES_OF_DAYS if of_days else Grain.TIMES

    @overload
    def __and__(self, other: "BooleanTimetable") -> "BooleanTimetable": ...

    @overload
    def __and__(self, other: object) -> Recurring: ...

    def __and__(self, other: object) -> Recurring:
        """Return when both hold."""
        mate = self._mate(other)
        return Recurring.__and__(self, other) if mate is None else self._join("and", mate)

    @overload
    def __or__(self, other: "BooleanTimetable") -> "BooleanTimetable": ...

    @overload
    def __or__(self, other: object) -> Recurring: ...

    def __or__(self, other: object) -> Recurring:
        """Return when either holds."""
        mate = self._mate(other)
        return Recurring.__or__(self, other) if mate is None else self._join("or", mate)

    @overload
    def __sub__(self, other: "BooleanTimetable") -> "BooleanTimetable": ...

    @overload
    def __sub__(self, other: object) -> Recurring: ...

    def __sub__(self, other: object) -> Recurring:
        """Return when this holds and `other` does not."""
        mate = self._mate(other)
        return Recurring.__sub__(self, other) if mate is None else self._join("and", ~mate)

    def __invert__(self) -> "BooleanTimetable":
        """Return when it does not hold."""
        return BooleanTimetable(("not", self.expression), self.timezone)

    def in_zone(self, timezone: str) -> "BooleanTimetable":
        """Return it in that zone, unless it has one of its own."""
        return self if self.timezone else replace(self, timezone=timezone)

    def tick_after(self, instant: datetime) -> datetime | None:
        """Return the first tick later than `instant`."""
        return self._ticks.after(instant)

    def tick_before(self, instant: datetime) -> datetime | None:
        """Return the last tick earlier than `instant`."""
        return self._ticks.before(instant)

    def meant(self, start: datetime) -> list[datetime]:
        """Return the minutes of the expression that a tick stands for."""
        return meant_at(start, self._ticks)

    def stretch(self, instant: datetime, meant: datetime | None = None) -> Stretch:
        """Return whether the expression holds at the instant, and from when to when."""
        zone, has = self._ticks.zone, self._pattern.has
        included = has(instant.astimezone(zone))
        if has(shown(instant, meant, zone)) != included:
            return Stretch(not included, instant, instant + INSTANT)
        to_others, to_these = self._changes
        other = to_others if included else to_these
        since, until = _bound(other.before, instant), _bound(other.after, instant)
        return Stretch(included, since and since + _MINUTE, until)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the expression as lists, and the zone."""
        return {"expression": _listed(self.expression), "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        tree, timezone = arguments.take_tree("expression"), arguments.take_optional_text("timezone")
        expression = _read(tree, arguments, [MOST_TERMS])
        check_expression(expression)
        return cls(expression, timezone)

    def _mate(self, other: object) -> "BooleanTimetable | None":
        same = isinstance(other, BooleanTimetable) and other.timezone == self.timezone
        return other if same and isinstance(other, BooleanTimetable) else None

    def _join(self, kind: str, other: "BooleanTimetable") -> "BooleanTimetable":
        parts: list[str | Expression] = []
        for expression in (self.expression, other.expression):
            parts += expression[1:] if expression[0] == kind else (expression,)
        return BooleanTimetable((kind, *parts), self.timezone)


@dataclass(frozen=True, slots=True)
class _Field:
    """Makes the expression that holds where a field has one of the values given.

    A value is a number, or text as in that field of a cron string: `Weekdays("MON-FRI")`.
    """

    kind: str

    def __call__(self, *values: int | str) -> BooleanTimetable:
        name = self.kind.capitalize()
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | str):
                raise TimetableError(f"{name} takes numbers and text, not {brief(value)}.")
            if isinstance(value, int) and not 0 <= value <= _HIGHEST:
                raise TimetableError(f"{name} takes no {brief(value)}, but for example {name}(3).")
        text = ",".join(map(str, values)).replace(" ", "")
        if not values:
            raise TimetableError(f"{name} takes at least one value, for example {name}(3).")
        if len(text) > LONGEST_TEXT:
            raise TimetableError(
                f"The values of {name} have {len(text):,} characters together; {LONGEST_TEXT:,} "
                "are allowed. Write ranges, for example '0-29' instead of each number."
            )
        return BooleanTimetable((self.kind, text))


Hours: Final = _Field("hours")
Minutes: Final = _Field("minutes")
Weekdays: Final = _Field("weekdays")
Days: Final = _Field("days")
Months: Final = _Field("months")


def _listed(expression: Expression) -> JsonValue:
    return [part if isinstance(part, str) else _listed(part) for part in expression]


def _read(tree: JsonValue, arguments: Arguments, left: list[int], depth: int = 0) -> Expression:
    """Return the expression that lists stand for; `left` is how many terms there may be yet."""
    left[0] -= 1
    if not isinstance(tree, list) or left[0] < 0 or depth > DEEPEST or len(tree) < _TWO:
        raise arguments.error("the expression is none, or too large")
    kind, *parts = tree
    if isinstance(kind, str) and kind in FIELDS:
        text = parts[0]
        if len(parts) > 1 or not isinstance(text, str) or len(text) > LONGEST_TEXT:
            raise arguments.error(f"{kind} takes one text")
        return (kind, text)
    if kind not in ("and", "or", "not") or (kind == "not" and len(parts) > 1):
        raise arguments.error("the expression has an operator that is unknown")
    return (str(kind), *(_read(part, arguments, left, depth + 1) for part in parts))


def _bound(find: Callable[[datetime], datetime], instant: datetime) -> datetime | None:
    try:
        return find(instant)
    except OverflowError:
        return None
