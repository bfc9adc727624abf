"""What is decided about the runs of a DAG that are due, and what it is decided from."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from headway.decide.scheduling.backfilled import BackfilledInterval
from headway.decide.scheduling.rollup import over
from headway.domain.dag.catchup import Catchup, Overlap, SkipReason
from headway.domain.dag.spec import DagSpec
from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo, TimeRestriction

ANY: Final = 2**31 - 1
"""More unfinished runs than a DAG ever has."""


@dataclass(frozen=True, slots=True)
class ScheduleRules:
    """What a DAG says of its runs: between which dates, and how missed and overlapping ones go."""

    earliest: datetime | None = None
    latest: datetime | None = None
    catchup: Catchup = Catchup.NONE
    window: timedelta | None = None
    overlap: Overlap = Overlap.QUEUE

    @classmethod
    def of(cls, spec: DagSpec) -> "ScheduleRules":
        """Return the rules of a DAG."""
        window = None if spec.catchup_window is None else timedelta(seconds=spec.catchup_window)
        overlap = spec.overlap or Overlap.QUEUE
        return cls(spec.start_date, spec.end_date, spec.missed, window, overlap)

    def bounds(self, *, catchup: bool) -> TimeRestriction:
        """Return the bounds for a timetable."""
        return TimeRestriction(self.earliest, self.latest, catchup)


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """How a DAG stands.

    `last` is the interval of its schedule that was dealt with last; `backfilled` are the runs of
    backfills about later ones.  `unfinished` of its scheduled runs have not ended, of `most`
    that it may have.  What fell due by `since` was missed.
    """

    last: DataInterval | None
    since: datetime
    unfinished: int = 0
    most: int = 16
    backfilled: Collection[BackfilledInterval] = ()


@dataclass(frozen=True, slots=True)
class SkippedInterval:
    """Intervals without a run of their own: from that which starts at `first` to that of `last`."""

    first: datetime
    last: DagRunInfo
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class DueRuns:
    """What to do now.

    `runs` are to be created, oldest first; those that `covers` names, by their date, are about
    several intervals.  `skipped` get no run.  With `cancels` the unfinished runs are to end.
    `following` is what comes next; it is not looked at again before it is due, and before
    less than `below` runs are unfinished (None: less than the DAG may have).  Where nothing
    follows as things stand, or nothing can be told for an `error`, it is asked `again` then.
    """

    runs: list[DagRunInfo]
    following: DagRunInfo | None
    skipped: list[SkippedInterval] = field(default_factory=list)
    covers: Mapping[datetime, list[DagRunInfo]] = field(default_factory=dict)
    cancels: bool = False
    below: int | None = None
    again: datetime | None = None
    error: str | None = None


class RunPlan:
    """What is to be done, while it is decided run by run."""

    def __init__(
        self,
        dag: ScheduleState,
        rules: ScheduleRules,
        at_most: int,
        skipped: list[SkippedInterval],
    ) -> None:
        self._dag, self._rules, self._at_most = dag, rules, at_most
        self._unfinished, self._cancels = dag.unfinished, False
        self._runs: list[DagRunInfo] = []
        self._covers: dict[datetime, list[DagRunInfo]] = {}
        self._skipped = skipped
        self._before: dict[DagRunInfo, DagRunInfo | None] = {}

    def take(self, group: list[DagRunInfo], before: DagRunInfo | None) -> bool:
        """Decide about runs that are due, to be created as one; False when they must wait.

        They follow the run `before` in the schedule, None if they are the first.
        """
        last = group[-1]
        self._before[group[0]] = before
        if len(self._runs) >= self._at_most:
            return False
        if self._rules.overlap is Overlap.QUEUE:
            if self._unfinished >= self._dag.most:
                return False
        elif last.run_after <= self._dag.since:  # it was decided to run what was missed
            if self._unfinished:
                return False
        elif self._unfinished and self._rules.overlap is Overlap.SKIP:
            self._skip(last, SkipReason.OVERLAP)
            return True
        elif self._unfinished and not self._replace():
            return False
        self._create(group)
        return True

    def leave_out(self, info: DagRunInfo, before: DagRunInfo | None, reason: SkipReason) -> None:
        """Enter that this run, which follows `before` in the schedule, is not created."""
        self._before[info] = before
        self._skip(info, reason)

    def made(self, following: DagRunInfo | None) -> DueRuns:
        """Return all that was decided."""
        below = None
        if following is not None and self._rules.overlap is not Overlap.QUEUE:
            below = 1 if following.run_after <= self._dag.since else ANY
        return DueRuns(self._runs, following, self._skipped, self._covers, self._cancels, below)

    def _create(self, group: list[DagRunInfo]) -> None:
        run = over(group)
        self._runs.append(run)
        if len(group) > 1:
            self._covers[run.run_after] = group
        self._unfinished += 1

    def _skip(self, info: DagRunInfo, reason: SkipReason) -> None:
        start, before = info.data_interval.start, self._before[info]
        last = self._skipped[-1] if self._skipped else None
        if last is not None and last.last == before and last.reason is reason:
            start = self._skipped.pop().first
        self._skipped.append(SkippedInterval(start, info, reason))

    def _replace(self) -> bool:
        """Make room for a newer run: what is unfinished ends, what is not there yet never is.

        False when a missed run was to be created just now: that one is not dropped.
        """
        if any(info.run_after <= self._dag.since for info in self._runs):
            return False
        self._cancels = self._dag.unfinished > 0
        for info in self._runs:
            self._skip(info, SkipReason.OVERLAP)
        self._runs.clear()
        self._unfinished = 0
        return True
