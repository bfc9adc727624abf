"""Several timetables as one: union, and what can be part of such."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final, Self

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError, brief
from headway.domain.interval import DataInterval
from headway.timetables.base import Arguments, Timetable
from headway.timetables.kinds.delta import PeriodTimetable, TimeDeltaTimetable
from headway.timetables.kinds.recurring import INSTANT, Grain, Recurring, Stretch
from headway.timetables.kinds.wrapped import RollingWindow, nested
from headway.timetables.wall_clock.durations import Period
from headway.timetables.wall_clock.effort import limited

MOST_PARTS: Final = 100
"""Timetables of one union beyond which it is refused."""


@dataclass(frozen=True, slots=True)
class Union(Recurring):
    """The runs of any of several timetables, once where they agree.  Write it with `|`.

    Their intervals must have one length: all run at exact times, or all over a day.
    """

    name: ClassVar[str] = "union"

    timetables: tuple[Recurring, ...]

    def __post_init__(self) -> None:
        parts = tuple(self.timetables)
        object.__setattr__(self, "timetables", parts)
        if not 1 <= len(parts) <= MOST_PARTS:
            raise TimetableError(f"A union takes 1 to {MOST_PARTS} timetables, not {len(parts)}.")
        for part in parts:
            check_part(part)
        if len({part.length for part in parts}) > 1 or parts[0].length is None:
            told = ", ".join(f"{part.summary} ({part.length or 'varying'})" for part in parts)
            raise TimetableError(
                "Timetables can be united where all their intervals have one length, for example "
                f"all run at exact times, or all over a day; these have: {told}. Take "
                "CronTimetable, or give each DataTimetable the same `interval`."
            )

    @property
    def summary(self) -> str:
        """The timetables."""
        return " | ".join(f"({part.summary})" for part in self.timetables)

    @property
    def partitions(self) -> bool:
        """Those of one may overlap those of another."""
        return False

    @property
    def length(self) -> Period | None:
        """The length that they have in common."""
        return self.timetables[0].length

    @property
    def grain(self) -> Grain:
        """The coarsest of theirs, so that it is about days only if all are."""
        return min(part.grain for part in self.timetables)

    @property
    def children(self) -> tuple[Timetable, ...]:
        """The timetables."""
        return self.timetables

    def in_zone(self, timezone: str) -> Recurring:
        """Return them in that zone."""
        return Union(tuple(part.in_zone(timezone) for part in self.timetables))

    def first_from(self, earliest: datetime) -> DataInterval | None:
        """Return the first interval of any that starts at or after `earliest`."""
        return min(self._of_each(lambda part: part.first_from(earliest)), default=None)

    def following(self, last: DataInterval) -> DataInterval | None:
        """Return the first interval of any that starts after `last` does."""
        return self.first_from(last.start + INSTANT)

    def last_starting(self, before: datetime) -> DataInterval | None:
        """Return the latest interval of any that starts before `before`."""
        return max(self._of_each(lambda part: part.last_starting(before)), default=None)

    def started_by(self, moment: datetime) -> datetime:
        """Return a time at which every interval that is over by `moment` has started."""
        return max(part.started_by(moment) for part in self.timetables)

    def complete_by(self, moment: datetime) -> DataInterval:
        """Return the latest of what a run by hand of any would be about."""
        return max(part.complete_by(moment) for part in self.timetables)

    def meant(self, start: datetime) -> list[datetime]:
        """Return what those mean by it that have an interval there."""
        by_part = [(part, part.meant(start)) for part in self.timetables]
        if all(meant == [start] for _, meant in by_part):
            return [start]
        return [moment for part, meant in by_part if _starts(part, start) for moment in meant]

    def stretch(self, instant: datetime, meant: datetime | None = None) -> Stretch:
        """Return whether an interval of any starts at `instant`."""
        return merge([part.stretch(instant, meant) for part in self.timetables])

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the timetables."""
        return {"timetables": [nested(part) for part in self.timetables]}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        parts = arguments.take_timetables("timetables", MOST_PARTS)
        return cls(tuple(check_part(part) for part in parts))

    def _of_each(self, ask: Callable[[Recurring], DataInterval | None]) -> Iterator[DataInterval]:
        """Yield what each has, unless it is too hard to find: the others run all the same."""
        for place, part in enumerate(self.timetables):
            found = None
            with limited(len(self.timetables) - place):
                found = ask(part)
            if found is not None:
                yield found


def check_part(timetable: object) -> Recurring:
    """Return what can be part of a combined timetable, or raise TimetableError."""
    if isinstance(timetable, TimeDeltaTimetable | PeriodTimetable):
        raise TimetableError(
            f"A timetable {timetable.summary} cannot be combined with others: its intervals are "
            "counted from the DAG's start date. Say by a cron string when they begin."
        )
    if isinstance(timetable, Recurring) and not isinstance(timetable, RollingWindow):
        return timetable
    raise TimetableError(
        "Timetables that say by rule when they run can be combined, such as CronTimetable, "
        f"Workdays or Hours; not {brief(timetable)}. Delayed and RollingWindow go around the whole."
    )


def _starts(timetable: Recurring, instant: datetime) -> bool:
    """Whether an interval of the timetable starts then."""
    found = timetable.first_from(instant)
    return found is not None and found.start == instant


def merge(stretches: list[Stretch]) -> Stretch:
    """Return whether any has the instant, and between which times none of them changes.

    Where none has it and one does not know, it is not known.
    """
    since = [stretch.since for stretch in stretches if stretch.since is not None]
    until = [stretch.until for stretch in stretches if stretch.until is not None]
    unknown = None if any(stretch.included is None for stretch in stretches) else False
    included = any(stretch.included for stretch in stretches) or unknown
    return Stretch(included, max(since, default=None), min(until, default=None))
