"""Timetables without a rhythm: never, once, and one run after another."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final, Self

from headway.domain.arguments import JsonValue
from headway.domain.interval import DataInterval
from headway.timetables.base import Arguments, DagRunInfo, TimeRestriction, Timetable

_SHORTEST: Final = timedelta(seconds=1)


class _Plain(Timetable):
    """A timetable without arguments, whose manual runs are about an instant."""

    __slots__ = ()

    @property
    def partitions(self) -> bool:
        """An instant is no period."""
        return False

    def infer_manual_data_interval(self, run_after: datetime) -> DataInterval:
        """Return the instant `run_after`."""
        return DataInterval.exact(run_after.astimezone(UTC))

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return nothing: there is nothing to set."""
        return {}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:  # noqa: ARG003
        """Make the timetable."""
        return cls()


@dataclass(frozen=True, slots=True)
class NullTimetable(_Plain):
    """Never runs by itself, only by hand."""

    name: ClassVar[str] = "null"

    @property
    def summary(self) -> str:
        """Say that there is no schedule."""
        return "none"

    def next_dagrun_info(
        self,
        last: DataInterval | None,  # noqa: ARG002
        restriction: TimeRestriction,  # noqa: ARG002
        now: datetime,  # noqa: ARG002
    ) -> DagRunInfo | None:
        """Return None, always."""
        return None


@dataclass(frozen=True, slots=True)
class OnceTimetable(_Plain):
    """Runs once, at the DAG's start date, or at once where it has none."""

    name: ClassVar[str] = "once"

    @property
    def summary(self) -> str:
        """The preset."""
        return "@once"

    def next_dagrun_info(
        self, last: DataInterval | None, restriction: TimeRestriction, now: datetime
    ) -> DagRunInfo | None:
        """Return the one run, until there has been one."""
        start = (restriction.earliest or now).astimezone(UTC)
        if last is not None or restriction.is_past(start):
            return None
        return DagRunInfo.once_over(DataInterval.exact(start))


@dataclass(frozen=True, slots=True)
class ContinuousTimetable(_Plain):
    """Runs again and again, each run over the time since the interval of the one before.

    A DAG that has it has one active run at a time (`sdk.dag_options` sees to that): the next one
    is always due.  An interval lasts a second at least, so that no two start at the same time.
    """

    name: ClassVar[str] = "continuous"

    @property
    def summary(self) -> str:
        """The preset."""
        return "@continuous"

    @property
    def partitions(self) -> bool:
        """Each interval starts where the last one ends."""
        return True

    def next_dagrun_info(
        self, last: DataInterval | None, restriction: TimeRestriction, now: datetime
    ) -> DagRunInfo | None:
        """Return the run over the time that has passed since `last`, or the start date."""
        # Without any bound the second that is over now: one that ends later would still be to
        # come each time that it is computed again.
        bounds = [date for date in (last and last.end, restriction.earliest) if date]
        start = max(bounds, default=now - _SHORTEST).astimezone(UTC)
        if restriction.is_past(start):
            return None
        end = max(start + _SHORTEST, now.astimezone(UTC))
        return DagRunInfo.once_over(DataInterval(start, end))


# The same by their short names.
Null = NullTimetable
Once = OnceTimetable
Continuous = ContinuousTimetable
