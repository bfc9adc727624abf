"""What a timetable is: the answer to "when does the next run fall due, and what is it about?"."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Final, Self

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError
from headway.domain.interval import DataInterval
from headway.timetables.arguments import Arguments

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
        return tuple(dict.fromkeys(it for child in self.children for it in child.remarks))

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
