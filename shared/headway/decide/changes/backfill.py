"""What becomes of each date of a backfill, and which runs it consists of."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from headway.decide.changes.backfill_dates import MOST_RUNS
from headway.decide.scheduling.rollup import Spans, over
from headway.domain.backfill import DateDecision, Direction, Reprocess
from headway.domain.errors import RequestError
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
    decision: DateDecision
    reason: str
    created: DagRunInfo | None = None
    existing: Existing | None = None


def judge(
    infos: Sequence[DagRunInfo],
    existing: Iterable[Existing],
    way: Way,
    apart: Collection[DagRunInfo] = frozenset(),
) -> list[PlannedDate]:
    """Say of every date what becomes of it, in the order in which the runs are to start.

    Dates that get a run are taken together, `rollup` at a time, as far as they follow each
    other: none is bridged that has a run, or that is left out before one of those `apart`.
    """
    if not 1 <= way.rollup <= MOST_RUNS:
        raise RequestError(
            f"A run takes at least 1 interval together, not {way.rollup}, and at most "
            f"{MOST_RUNS:,}."
        )
    there = _There(existing)
    found = [(info, there.at(info)) for info in infos]
    whole = _whole(found, apart)
    dates = [_judge(info, run, whole, way.reprocess) for info, run in found]
    if way.rollup > 1:
        dates = _rolled_up(dates, way.rollup, {*apart, *there.parted(infos)})
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
    again = (date.existing for date in dates if date.decision is DateDecision.RERUN)
    return list(dict.fromkeys(run for run in again if run is not None))


def _of(date: PlannedDate) -> datetime | None:
    """Return the schedule date by which the date's run is known, if that runs again."""
    again = date.existing if date.decision is DateDecision.RERUN else None
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
        self._spans = Spans(run.interval for run in self._apart)

    def at(self, info: DagRunInfo) -> Existing | None:
        if info.run_after in self._dates:  # of a former schedule one may have the same date
            its = info.data_interval
            return min(self._dates[info.run_after], key=lambda run: run.interval != its)
        nth = bisect_right(self._starts, info.data_interval.start)
        near = self._apart[max(nth - 1, 0) : nth + 1]
        return next((run for run in near if _overlap(run.interval, info.data_interval)), None)

    def parted(self, infos: Sequence[DagRunInfo]) -> Iterator[DagRunInfo]:
        """Yield those that are parted from the one before by what a run is about."""
        return (after for before, after in pairwise(infos) if self._spans.part(before, after))


def _overlap(one: DataInterval, other: DataInterval) -> bool:
    return one.start < other.end and other.start < one.end


def _whole(
    found: Iterable[tuple[DagRunInfo, Existing | None]], apart: Collection[DagRunInfo]
) -> set[int]:
    """Return the runs of which every interval is among these, which are in the order of time."""
    runs: dict[int, Existing] = {}
    parts: dict[int, list[DagRunInfo]] = {}
    for info, run in found:
        if run is not None:
            runs[run.id] = run
            parts.setdefault(run.id, []).append(info)
    return {number for number, run in runs.items() if _make_up(parts[number], run, apart)}


def _make_up(parts: Sequence[DagRunInfo], run: Existing, apart: Collection[DagRunInfo]) -> bool:
    """Whether nothing of the run is left out, and nothing lies beyond it."""
    all_of_it = over(parts).data_interval == run.interval
    return all_of_it and not any(part in apart for part in parts[1:])


def _judge(
    info: DagRunInfo, run: Existing | None, whole: Collection[int], reprocess: Reprocess
) -> PlannedDate:
    if run is None:
        return PlannedDate(info, DateDecision.CREATE, "It has no run.", created=info)
    if run.id not in whole:
        period = f"{run.interval.start:%F %R} to {run.interval.end:%F %R}"
        reason = f"Run {run.run_id} is about {period}: about more than what is asked for."
        return PlannedDate(info, DateDecision.CONFLICT, reason, existing=run)
    decision, reason = _of_existing(run, reprocess)
    return PlannedDate(info, decision, reason, existing=run)


def _of_existing(run: Existing, reprocess: Reprocess) -> tuple[DateDecision, str]:
    if run.state in UNFINISHED_RUN:
        return DateDecision.CONFLICT, f"Its run {run.run_id} is {run.state}."
    if run.state is RunState.FAILED and reprocess is Reprocess.NONE:
        return (
            DateDecision.SKIP,
            f"Its run {run.run_id} has failed; --reprocess failed runs it again.",
        )
    if run.state is RunState.SUCCESS and reprocess is not Reprocess.COMPLETED:
        return (
            DateDecision.SKIP,
            f"Its run {run.run_id} was well; --reprocess completed runs it again.",
        )
    return DateDecision.RERUN, f"Its run {run.run_id} has ended ({run.state}) and runs again."


def _rolled_up(
    dates: Sequence[PlannedDate], size: int, parted: Collection[DagRunInfo]
) -> list[PlannedDate]:
    """Take dates together, but for those before which something is that is not bridged."""
    found: list[PlannedDate] = []
    chunk: list[PlannedDate] = []
    for date in dates:
        creates = date.decision is DateDecision.CREATE
        if not creates or len(chunk) == size or date.info in parted:
            found += _together(chunk)
            chunk = []
        (chunk if creates else found).append(date)
    return found + _together(chunk)


def _together(chunk: Sequence[PlannedDate]) -> list[PlannedDate]:
    if len(chunk) <= 1:
        return list(chunk)
    run = over([date.info for date in chunk])
    reason = f"It has no run; {len(chunk)} intervals get one together."
    return [replace(date, created=run, reason=reason) for date in chunk]
