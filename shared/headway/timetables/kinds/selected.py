"""Those runs of a timetable that another one selects: intersection, exclusion."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final, Self

from headway.domain.arguments import JsonValue
from headway.domain.interval import DataInterval
from headway.timetables.base import Arguments, Timetable
from headway.timetables.kinds.combined import check_part, merge
from headway.timetables.kinds.recurring import INSTANT, Grain, Often, Recurring, Stretch
from headway.timetables.kinds.wrapped import nested
from headway.timetables.wall_clock.durations import Period
from headway.timetables.wall_clock.effort import limited, spend

_A_LOOK: Final = 5
"""The work to look at one interval, besides that of finding it."""


@dataclass(frozen=True, slots=True)
class _Selected(Recurring):
    """Those runs of `timetable` whose interval starts at a time that is selected."""

    timetable: Recurring
    by: Recurring

    def __post_init__(self) -> None:
        check_part(self.timetable)
        check_part(self.by)

    @property
    def partitions(self) -> bool:
        """As the timetable's."""
        return self.timetable.partitions

    @property
    def length(self) -> Period | None:
        """The timetable's."""
        return self.timetable.length

    @property
    def often(self) -> Often:
        """As the timetable."""
        return self.timetable.often

    @property
    def grain(self) -> Grain:
        """The timetable's."""
        return self.timetable.grain

    @property
    def children(self) -> tuple[Timetable, ...]:
        """The timetable, and what selects its runs."""
        return (self.timetable, self.by)

    @abstractmethod
    def _select(self, by: Stretch) -> bool | None:
        """Whether an interval is taken, by what the other timetable has there; None: not known."""

    def in_zone(self, timezone: str) -> Recurring:
        """Return them in that zone."""
        return type(self)(self.timetable.in_zone(timezone), self.by.in_zone(timezone))

    def first_from(self, earliest: datetime) -> DataInterval | None:
        """Return the first selected interval at or after `earliest`."""
        return self._select_from(lambda: self.timetable.first_from(earliest))

    def next_from(self, last: DataInterval, earliest: datetime | None) -> DataInterval | None:
        """Return the selected interval after `last` that does not start before `earliest`."""
        return self._select_from(lambda: self.timetable.next_from(last, earliest))

    def following(self, last: DataInterval) -> DataInterval | None:
        """Return the selected interval after `last`."""
        return self.next_from(last, None)

    def last_starting(self, before: datetime) -> DataInterval | None:
        """Return the latest selected interval that starts before `before`."""
        with limited():
            interval = self.timetable.last_starting(before)
            while interval is not None:
                spend(_A_LOOK)
                stretch = self._selects(interval.start)
                if stretch.included:
                    return interval
                if stretch.since is None:
                    return None
                before = min(stretch.since + INSTANT, interval.start)  # a gap may end at `since`
                interval = self.timetable.last_starting(before)
        return None

    def started_by(self, moment: datetime) -> datetime:
        """Return a time at which every interval that is over by `moment` has started."""
        return self.timetable.started_by(moment)

    def complete_by(self, moment: datetime) -> DataInterval:
        """Return what a run by hand is about, whether it would be selected or not."""
        return self.last_over(moment) or self.timetable.complete_by(moment)

    def meant(self, start: datetime) -> list[datetime]:
        """Return those times of the timetable's that are selected."""
        every = self.timetable.meant(start)
        return [moment for moment in every if self._select(self.by.stretch(start, moment))]

    def stretch(self, instant: datetime, meant: datetime | None = None) -> Stretch:
        """Return whether a selected interval starts at `instant`."""
        of_both = [part.stretch(instant, meant) for part in (self.timetable, self.by)]
        merged = merge(of_both)
        included = _both(of_both[0].included, self._select(of_both[1]))
        return Stretch(included, merged.since, merged.until)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return both timetables."""
        return {"timetable": nested(self.timetable), "by": nested(self.by)}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        timetable, by = arguments.take_timetable("timetable"), arguments.take_timetable("by")
        return cls(check_part(timetable), check_part(by))

    def _selects(self, start: datetime) -> Stretch:
        """Return whether the interval there is taken, and between which times `by` is the same."""
        of_each = [self.by.stretch(start, meant) for meant in self.timetable.meant(start)]
        merged = merge(of_each)
        return Stretch(any(map(self._select, of_each)), merged.since, merged.until)

    def _select_from(self, find: Callable[[], DataInterval | None]) -> DataInterval | None:
        with limited():
            interval = find()
            while interval is not None:
                spend(_A_LOOK)
                stretch = self._selects(interval.start)
                if stretch.included:
                    return interval
                if stretch.until is None:
                    return None
                interval = self.timetable.next_from(interval, stretch.until)
        return None


@dataclass(frozen=True, slots=True)
class Intersection(_Selected):
    """Those runs of `timetable` whose interval starts at a time of `by`.  Write it with `&`.

    A timetable of days, such as Workdays, stands for the whole of them:
    `CronTimetable("0 9 * * *") & Workdays("US")` runs at nine on workdays.
    """

    name: ClassVar[str] = "intersection"

    @property
    def summary(self) -> str:
        """Both timetables."""
        return f"({self.timetable.summary}) & ({self.by.summary})"

    def _select(self, by: Stretch) -> bool | None:
        return by.included


@dataclass(frozen=True, slots=True)
class Exclusion(_Selected):
    """Those runs of `timetable` whose interval does not start at a time of `by`: `a - b`."""

    name: ClassVar[str] = "exclusion"

    @property
    def summary(self) -> str:
        """Both timetables."""
        return f"({self.timetable.summary}) - ({self.by.summary})"

    def _select(self, by: Stretch) -> bool | None:
        return None if by.included is None else not by.included


def _both(one: bool | None, other: bool | None) -> bool | None:
    """Return whether both hold, None where that depends on what is not known."""
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def intersect(one: Recurring, other: Recurring) -> Intersection:
    """Return what both have in common, with the runs of the one that says more exactly when."""
    by_other = check_part(one).grain <= check_part(other).grain
    return Intersection(one, other) if by_other else Intersection(other, one)
