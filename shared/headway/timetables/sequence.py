"""The runs of a DAG as they lie in time, from any moment on."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from headway.timetables.base import DagRunInfo, TimeRestriction, Timetable
from headway.timetables.kinds.simple import ContinuousTimetable
from headway.timetables.kinds.wrapped import undelayed


def runs_from(
    timetable: Timetable, bounds: TimeRestriction, moment: datetime
) -> Iterator[DagRunInfo]:
    """Yield the runs within the bounds whose interval starts at or after `moment`.

    Those of periods that are counted from the start date are where they are, not counted
    from `moment`.
    """
    for info in _around(timetable, bounds, moment):
        if info.data_interval.start >= moment:
            yield info


def runs_between(
    timetable: Timetable, start_date: datetime | None, first: datetime, last: datetime
) -> Iterator[DagRunInfo]:
    """Yield the runs of a DAG whose interval starts in `[first, last]`, over or not.

    Where that begins before the DAG's `start_date`, periods are counted from its beginning.
    """
    earliest = None if start_date is None else min(start_date, first)
    return runs_from(timetable, TimeRestriction(earliest, last, catchup=True), first)


def runs_on(
    timetable: Timetable, first: DagRunInfo | None, bounds: TimeRestriction, now: datetime
) -> Iterator[DagRunInfo]:
    """Yield that run and those after it."""
    info = first
    while info is not None:
        yield info
        info = timetable.next_dagrun_info(info.data_interval, bounds, now)


def known(timetable: Timetable, runs: Iterable[DagRunInfo]) -> Iterator[DagRunInfo]:
    """Yield those of the coming runs of which it is known when they come.

    A continuous one comes when the one before it has ended: only the first is known.
    """
    return islice(runs, 1) if is_continuous(timetable) else iter(runs)


def is_continuous(timetable: Timetable) -> bool:
    """Whether each run comes when the one before it has ended, whenever that is."""
    return isinstance(undelayed(timetable), ContinuousTimetable)


def run_before(
    timetable: Timetable, bounds: TimeRestriction, moment: datetime
) -> DagRunInfo | None:
    """Return the last run within the bounds whose interval starts before `moment`."""
    if is_continuous(timetable):
        return None
    found = None
    for info in _around(timetable, bounds, moment - timedelta.resolution):
        if info.data_interval.start >= moment:
            break
        found = info
    return found


def run_ending_after(
    timetable: Timetable, bounds: TimeRestriction, moment: datetime
) -> DagRunInfo | None:
    """Return the first run within the bounds whose interval ends after `moment`."""
    if is_continuous(timetable):
        return None
    runs = _around(timetable, bounds, moment)
    return next((info for info in runs if info.data_interval.end > moment), None)


def _around(timetable: Timetable, bounds: TimeRestriction, now: datetime) -> Iterator[DagRunInfo]:
    """Yield the latest run that is over by `now`, if there is one, and those after it."""
    first = timetable.next_dagrun_info(None, replace(bounds, catchup=False), now)
    return runs_on(timetable, first, replace(bounds, catchup=True), now)
