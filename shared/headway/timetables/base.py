"""What a timetable is: the answer to "when does the next run fall due, and what is it about?".

Its stored arguments are read with care: they come from a database.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import ClassVar, Final, Self, TypeAlias

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError, brief
from headway.domain.interval import DataInterval
from headway.timetables.wall_clock.durations import Length, read_length

BEGINNING: Final = datetime(2, 1, 1, tzinfo=UTC)
"""No interval starts earlier: around it there is another day in any zone, and a year before it."""


END: Final = datetime(9999, 1, 1, tzinfo=UTC)
"""No run starts later: around it there is another day in any zone, and most of a year after it."""


@dataclass(frozen=True, slots=True)
class DagRunInfo:
    """A run to come: when it may start at the earliest, and the interval it is about."""

    run_after: datetime
    data_interval: DataInterval

    def __post_init__(self) -> None:
        if self.run_after.tzinfo is None:
            raise TimetableError(f"The run at {self.run_after} has no time zone; give it one.")

    @classmethod
    def once_over(cls, interval: DataInterval) -> "DagRunInfo":
        """Return the run that starts as soon as its interval is over."""
        return cls(interval.end, interval)


@dataclass(frozen=True, slots=True)
class TimeRestriction:
    """The bounds that a DAG sets to its intervals, and whether missed ones are caught up.

    No interval starts before `earliest` or after `latest`.  Without `catchup` the next
    interval is never older than the latest complete one.  An `earliest` date before BEGINNING,
    such as the first of the calendar, becomes that.
    """

    earliest: datetime | None
    latest: datetime | None
    catchup: bool

    def __post_init__(self) -> None:
        for bound in (self.earliest, self.latest):
            if bound is not None and bound.tzinfo is None:
                raise TimetableError(f"The bound {bound} has no time zone; give it one.")
        if self.earliest is not None and self.earliest < BEGINNING:
            object.__setattr__(self, "earliest", BEGINNING)

    def is_past(self, start: datetime) -> bool:
        """Whether an interval that starts then starts too late."""
        return self.latest is not None and start > self.latest


class Timetable(ABC):
    """When a DAG runs, as a pure function of the past; equal arguments make equal timetables.

    All dates that a timetable returns are aware UTC.
    """

    __slots__ = ()

    name: ClassVar[str]
    """The name under which it is registered and stored."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """The schedule in a few characters, for people."""

    @property
    @abstractmethod
    def partitions(self) -> bool:
        """Whether its intervals are periods that never overlap."""

    @property
    def children(self) -> "tuple[Timetable, ...]":
        """The timetables that it is made of."""
        return ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to tell people where it has no run: for example where a calendar ends."""
        return tuple(dict.fromkeys(remark for child in self.children for remark in child.remarks))

    def in_zone(self, timezone: str) -> "Timetable":  # noqa: ARG002
        """Return it as it is for a DAG in that zone, unless it has a zone of its own."""
        return self

    def check(self) -> None:
        """Raise TimetableError unless all is installed here that it needs to say when it runs.

        A process that only runs tasks never asks for that.
        """
        for child in self.children:
            child.check()

    @abstractmethod
    def next_dagrun_info(
        self, last: DataInterval | None, restriction: TimeRestriction, now: datetime
    ) -> DagRunInfo | None:
        """Return the run that follows the one over `last`, due or yet to fall due.

        `last` is the latest interval that was scheduled, None for a DAG that has had no
        run.  None means that there is no next run as things stand; it is not terminal.
        """

    @abstractmethod
    def infer_manual_data_interval(self, run_after: datetime) -> DataInterval:
        """Return the interval that a run triggered by hand at `run_after` is about."""

    @abstractmethod
    def arguments(self) -> Mapping[str, JsonValue]:
        """Return what `from_arguments` needs to make an equal timetable."""

    @classmethod
    @abstractmethod
    def from_arguments(cls, arguments: "Arguments") -> Self:
        """Make a timetable of what `arguments` returned, or raise TimetableError."""


LONGEST_TEXT: Final = 1000
"""Characters of one argument beyond which it is refused."""


Decoder: TypeAlias = Callable[[str, Mapping[str, JsonValue]], "Timetable"]


class Arguments:
    """Arguments to be taken one by one; each is checked as it is taken.

    `decode` makes a timetable that is an argument of another one.
    """

    def __init__(
        self, timetable: str, values: Mapping[str, JsonValue], decode: Decoder | None = None
    ) -> None:
        self._timetable = timetable
        self._left = dict(values)
        self._decode = decode

    def take_text(self, key: str) -> str:
        """Take an argument that is text."""
        return self._text(key, self._take(key))

    def take_optional_text(self, key: str) -> str | None:
        """Take an argument that is text, or null."""
        value = self._take(key)
        return None if value is None else self._text(key, value)

    def take_texts(self, key: str, most: int) -> list[str]:
        """Take an argument that is a list of at most so many texts."""
        return [self._text(key, item) for item in self._list(key, most)]

    def take_number(self, key: str) -> float:
        """Take an argument that is a number."""
        value = self._take(key)
        if not _is_number(value):
            raise self.error(f"{key!r} must be a number, not {brief(value)}")
        assert isinstance(value, int | float)
        return value

    def take_whole(self, key: str) -> int:
        """Take an argument that is a whole number."""
        value = self._take(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(f"{key!r} must be a whole number, not {brief(value)}")
        return value

    def take_length(self, key: str, *, signed: bool = False) -> Length:
        """Take an argument that is a duration: a number of seconds, or ISO 8601 text."""
        return self._length(key, self._take(key), signed=signed)

    def take_optional_length(self, key: str) -> Length | None:
        """Take an argument that is a duration, or null."""
        value = self._take(key)
        return None if value is None else self._length(key, value)

    def take_timetable(self, key: str) -> "Timetable":
        """Take an argument that is a timetable."""
        return self._timetable_of(key, self._take(key))

    def take_timetables(self, key: str, most: int) -> "list[Timetable]":
        """Take an argument that is a list of at most so many timetables."""
        return [self._timetable_of(key, item) for item in self._list(key, most)]

    def take_tree(self, key: str) -> JsonValue:
        """Take an argument whose form the timetable checks itself."""
        return self._take(key)

    def check_all_taken(self) -> None:
        """Raise TimetableError when an argument is left that the timetable does not know."""
        if self._left:
            raise self.error(f"it does not know {', '.join(map(brief, sorted(self._left)))}")

    def error(self, problem: str) -> TimetableError:
        """Return the error that tells what does not fit."""
        return TimetableError(
            f"The stored arguments of the timetable {self._timetable!r} do not fit: {problem}. "
            "Let the parser read the DAG file again with this release of Headway."
        )

    def _take(self, key: str) -> JsonValue:
        try:
            return self._left.pop(key)
        except KeyError:
            raise self.error(f"{key!r} is missing") from None

    def _list(self, key: str, most: int) -> Sequence[JsonValue]:
        value = self._take(key)
        if not isinstance(value, list) or len(value) > most:
            raise self.error(f"{key!r} must be a list of at most {most:,}, not {brief(value)}")
        return value

    def _text(self, key: str, value: JsonValue) -> str:
        if not isinstance(value, str):
            raise self.error(f"{key!r} must be text, not {brief(value)}")
        if len(value) > LONGEST_TEXT:
            raise self.error(f"{key!r} has more than {LONGEST_TEXT:,} characters")
        return value

    def _length(self, key: str, value: JsonValue, *, signed: bool = False) -> Length:
        if not _is_number(value) and not isinstance(value, str):
            raise self.error(
                f"{key!r} must be a number of seconds or ISO 8601 text, not {brief(value)}"
            )
        try:
            length = timedelta(seconds=value) if isinstance(value, int | float) else value
        except (OverflowError, ValueError) as error:
            raise self.error(f"{key!r} is no duration: {value!r} seconds") from error
        return read_length(f"The {key} of a timetable", length, signed=signed)

    def _timetable_of(self, key: str, value: JsonValue) -> "Timetable":
        if not isinstance(value, dict) or set(value) != {"name", "arguments"}:
            raise self.error(f"{key!r} must be a timetable, not {brief(value)}")
        name, arguments = value["name"], value["arguments"]
        if not isinstance(name, str) or not isinstance(arguments, dict) or self._decode is None:
            raise self.error(f"{key!r} must be a timetable, not {brief(value)}")
        return self._decode(name, arguments)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
