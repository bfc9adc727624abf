"""What becomes of each date of a backfill, and which runs it consists of."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from headway.decide.backfill_dates import MOST_RUNS
from headway.domain.backfill import Direction, Fate, Reprocess
from headway.domain.errors import DagError
from headway.domain.interval import DataInterval
from headway.domain.states import UNFINISHED_RUN, RunState
from headway.timetables.base import DagRunInfo


@dataclass(frozen=True, slots=True)
class Way:
    """How dates become runs: what runs again, in which direction, how many intervals a run."""

    reprocess: Reprocess = Reprocess.NONE
    direction: Direction = Direction.FORWARD
    rollup: int = 1


AS_IT_COMES: Final = Way()


@dataclass(frozen=True, slots=True)
class Existing:
    """An automated run that there is, at one of the dates that it is for.

    No interval of another one may overlap its own if it `partitions` time.
    """

    id: int
    schedule_date: datetime
    run_id: str
    state: RunState
    interval: DataInterval
    partitions: bool
    version_id: int


@dataclass(frozen=True, slots=True)
class PlannedDate:
    """One date: what becomes of it and why; the run that it is created in, or that it has."""

    info: DagRunInfo
    fate: Fate
    reason: str
    created: DagRunInfo | None = None
    existing: Existing | None = None


def judge(infos: Sequence[DagRunInfo], existing: Iterable[Existing], way: Way) -> list[PlannedDate]:
    """Say of every date what becomes of it, in the order in which the runs are to start.

    Dates that get a run are taken together, `rollup` at a time, where their intervals touch.
    """
    if not 1 <= way.rollup <= MOST_RUNS:
        raise DagError(
            f"A run takes at least 1 interval together, not {way.rollup}, and at most "
            f"{MOST_RUNS:,}."
        )
    there = _There(existing)
    found = [(info, there.at(info)) for info in infos]
    whole = _whole(found)
    dates = _rolled_up([_judge(it, run, whole, way.reprocess) for it, run in found], way.rollup)
    return dates if way.direction is Direction.FORWARD else dates[::-1]


def runs_to_create(dates: Iterable[PlannedDate]) -> list[DagRunInfo]:
    """Return the runs that are created, each once, in the order of the plan."""
    return list(dict.fromkeys(date.created for date in dates if date.created is not None))


def places(dates: Sequence[PlannedDate]) -> Mapping[datetime, datetime]:
    """Return by schedule date when each run may start: at once, but in the order of the plan.

    They are a microsecond apart, just before the last interval of the plan was over: past
    by anybody's clock.
    """
    its = (date.created.run_after if date.created else _of(date) for date in dates)
    order = dict.fromkeys(when for when in its if when is not None)
    first = max(date.info.run_after for date in dates) - timedelta(microseconds=len(order))
    return {date: first + timedelta(microseconds=nth) for nth, date in enumerate(order)}


def runs_again(dates: Iterable[PlannedDate]) -> list[Existing]:
    """Return the runs that run again, each once, in the order of the plan."""
    again = (date.existing for date in dates if date.fate is Fate.RERUN)
    return list(dict.fromkeys(run for run in again if run is not None))


def _of(date: PlannedDate) -> datetime | None:
    """Return the schedule date by which the date's run is known, if that runs again."""
    again = date.existing if date.fate is Fate.RERUN else None
    return None if again is None else again.schedule_date


class _There:
    """Finds the run that a date has, or that is in its way."""

    def __init__(self, existing: Iterable[Existing]) -> None:
        runs = sorted(existing, key=lambda run: (run.interval.start, run.schedule_date))
        once = {run.id: run for run in runs}
        self._dates: dict[datetime, list[Existing]] = {}
        for run in runs:
            self._dates.setdefault(run.schedule_date, []).append(once[run.id])
        self._apart = [run for run in runs if run.partitions]
        self._starts = [run.interval.start for run in self._apart]

    def at(self, info: DagRunInfo) -> Existing | None:
        if info.run_after in self._dates:  # of a former schedule one may have the same date
            its = info.data_interval
            return min(self._dates[info.run_after], key=lambda run: run.interval != its)
        nth = bisect_right(self._starts, info.data_interval.start)
        near = self._apart[max(nth - 1, 0) : nth + 1]
        return next((run for run in near if _overlap(run.interval, info.data_interval)), None)


def _overlap(one: DataInterval, other: DataInterval) -> bool:
    return one.start < other.end and other.start < one.end


def _whole(found: Iterable[tuple[DagRunInfo, Existing | None]]) -> set[int]:
    """Return the runs of which every interval is among these, which are in the order of time."""
    runs: dict[int, Existing] = {}
    parts: dict[int, list[DataInterval]] = {}
    for info, run in found:
        if run is not None:
            runs[run.id] = run
            parts.setdefault(run.id, []).append(info.data_interval)
    return {number for number, run in runs.items() if _make_up(parts[number], run.interval)}


def _make_up(parts: Sequence[DataInterval], whole: DataInterval) -> bool:
    """Whether nothing of the whole is left out, and nothing lies beyond it."""
    end = whole.start
    for part in parts:
        if not whole.start <= part.start <= end:
            return False
        end = max(end, part.end)
    return end == whole.end


def _judge(
    info: DagRunInfo, run: Existing | None, whole: Collection[int], reprocess: Reprocess
) -> PlannedDate:
    if run is None:
        return PlannedDate(info, Fate.CREATE, "It has no run.", created=info)
    if run.id not in whole:
        period = f"{run.interval.start:%F %R} to {run.interval.end:%F %R}"
        reason = f"Run {run.run_id} is about {period}: about more than what is asked for."
        return PlannedDate(info, Fate.CONFLICT, reason, existing=run)
    fate, reason = _of_existing(run, reprocess)
    return PlannedDate(info, fate, reason, existing=run)


def _of_existing(run: Existing, reprocess: Reprocess) -> tuple[Fate, str]:
    if run.state in UNFINISHED_RUN:
        return Fate.CONFLICT, f"Its run {run.run_id} is {run.state}."
    if run.state is RunState.FAILED and reprocess is Reprocess.NONE:
        return Fate.SKIP, f"Its run {run.run_id} has failed; --reprocess failed runs it again."
    if run.state is RunState.SUCCESS and reprocess is not Reprocess.COMPLETED:
        return Fate.SKIP, f"Its run {run.run_id} was well; --reprocess completed runs it again."
    return Fate.RERUN, f"Its run {run.run_id} has ended ({run.state}) and runs again."


def _rolled_up(dates: Sequence[PlannedDate], size: int) -> list[PlannedDate]:
    if size == 1:
        return list(dates)
    found: list[PlannedDate] = []
    chunk: list[PlannedDate] = []
    for date in [*dates, None]:
        if chunk and (len(chunk) == size or date is None or not _touches(chunk, date)):
            found += _together(chunk)
            chunk = []
        if date is not None:
            (chunk if date.fate is Fate.CREATE else found).append(date)
    return found


def _touches(chunk: Sequence[PlannedDate], date: PlannedDate) -> bool:
    """Whether a run is to be created at the date too, and no time lies between."""
    end = max(it.info.data_interval.end for it in chunk)
    return date.fate is Fate.CREATE and date.info.data_interval.start <= end


def _together(chunk: Sequence[PlannedDate]) -> list[PlannedDate]:
    intervals = [date.info.data_interval for date in chunk]
    union = DataInterval(intervals[0].start, max(interval.end for interval in intervals))
    run = DagRunInfo(max(date.info.run_after for date in chunk), union)
    many = f"It has no run; {len(chunk)} intervals get one together." if len(chunk) > 1 else None
    return [replace(date, created=run, reason=many or date.reason) for date in chunk]
