"""Which runs of a DAG fall due, and when to look at it again."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo, TimeRestriction, Timetable


@dataclass(frozen=True, slots=True)
class Due:
    """The runs to create now, oldest first, and the one after them, if there is any."""

    runs: list[DagRunInfo]
    following: DagRunInfo | None


def due(
    timetable: Timetable,
    last: DataInterval | None,
    restriction: TimeRestriction,
    now: datetime,
    at_most: int,
    taken: Collection[datetime] = (),
) -> Due:
    """Return the runs whose time has come by `now`, at most so many, after the interval `last`.

    An interval whose run would be at one of the dates `taken`, because a backfill has
    it, is passed over.
    """
    runs: list[DagRunInfo] = []
    following = timetable.next_dagrun_info(last, restriction, now)
    while following is not None and following.run_after <= now and len(runs) < at_most:
        if following.run_after not in taken:
            runs.append(following)
        following = timetable.next_dagrun_info(following.data_interval, restriction, now)
    return Due(runs, following)
