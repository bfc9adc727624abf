"""Which runs of a DAG fall due, what becomes of those that were missed, and when to look again.

A run is missed when it fell due while nobody scheduled its DAG: before `since`, the moment at
which the DAG was new or unpaused, got another schedule, or the schedulers came back.  What
falls due later is never missed, however late it is looked at.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from headway.decide.scheduling.backfilled import BackfilledIntervals
from headway.decide.scheduling.due_plan import (
    ANY,
    DueRuns,
    RunPlan,
    ScheduleRules,
    ScheduleState,
    SkippedInterval,
)
from headway.domain.dag.catchup import Catchup, Overlap, SkipReason
from headway.domain.errors import TimetableError
from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo, Timetable
from headway.timetables.kinds.simple import ContinuousTimetable, NullTimetable, OnceTimetable
from headway.timetables.kinds.wrapped import undelayed
from headway.timetables.sequence import known, runs_on

MOST_ROLLED: Final = 10_000
"""Intervals that one run covers at most; what is beyond goes to the next one.

When so many are covered, no more runs are decided about at once.
"""


_INSTANT: Final = timedelta.resolution


_NEVER_MISSED: Final = (OnceTimetable, ContinuousTimetable)
"""Their one next run is due whenever the DAG is there, and leaves nothing out."""


_END: Final = (NullTimetable, OnceTimetable)
"""These have no next run for good where they have none."""


ASK_AGAIN: Final = timedelta(hours=1)
"""After that a timetable without a next run is asked again: a newer package may know of one."""


_NEED_NO_START: Final = frozenset({Catchup.NONE, Catchup.LATEST})
"""With these a DAG without a start date has a first interval: the latest one."""


def due(
    timetable: Timetable, dag: ScheduleState, rules: ScheduleRules, now: datetime, at_most: int
) -> DueRuns:
    """Decide what becomes of the runs that are due at `now`; at most so many are created.

    TimetableError when the timetable fails, or does not move on.
    """
    dag = replace(dag, since=min(dag.since, now))
    schedule = _Schedule(timetable, rules, now)
    cursor, left_out = dag.last, None
    if not isinstance(undelayed(timetable), _NEVER_MISSED):
        horizon, reason = _horizon(schedule, dag)
        gone = None if horizon is None else schedule.last_due(cursor, horizon)
        if gone is not None:
            left_out = schedule.skipped(cursor, gone, reason)
            cursor = gone.data_interval
    plan = RunPlan(dag, rules, at_most, [] if left_out is None else [left_out])
    ahead = BackfilledIntervals(dag.backfilled, partitions=timetable.partitions)
    following, before, rolled = schedule.first_after(cursor), None, 0
    while following is not None and following.run_after <= now and rolled < MOST_ROLLED:
        group = [following]
        if ahead.blocks(following):
            plan.leave_out(following, before, SkipReason.CONFLICT)
        elif not ahead.has(following):
            if rules.catchup is Catchup.ROLLUP and following.run_after <= dag.since:
                group = list(schedule.missed(following, dag, ahead))
            if not plan.take(group, before):
                break
        before = group[-1]
        rolled += len(group) if len(group) > 1 else 0
        following = schedule.after(before)
    may_come = following is None and not _has_ended(timetable, rules, now)
    return replace(plan.made(following), again=now + ASK_AGAIN if may_come else None)


def _has_ended(timetable: Timetable, rules: ScheduleRules, now: datetime) -> bool:
    """Whether a schedule that has no next run will never have one."""
    if isinstance(undelayed(timetable), _END):
        return True
    return rules.latest is not None and rules.latest < now


def _horizon(schedule: "_Schedule", dag: ScheduleState) -> tuple[datetime | None, SkipReason]:
    """Return until when what fell due is left out, if anything is, and why."""
    rules = schedule.rules
    if rules.catchup is Catchup.NONE:
        return dag.since, SkipReason.CATCHUP
    window = None if rules.window is None else dag.since - rules.window - _INSTANT
    if rules.catchup is Catchup.LATEST:
        newest = schedule.last_due(dag.last, dag.since)
        before = None if newest is None else newest.run_after - _INSTANT
        if before is not None and (window is None or before > window):
            return before, SkipReason.CATCHUP
    return window, SkipReason.WINDOW


@dataclass(frozen=True, slots=True)
class _Schedule:
    """The timetable of a DAG within its bounds."""

    timetable: Timetable
    rules: ScheduleRules
    now: datetime

    def first_after(self, last: DataInterval | None) -> DagRunInfo | None:
        """Return the run after what was dealt with last, be it missed or not."""
        if last is None and self.rules.earliest is None and self.rules.catchup in _NEED_NO_START:
            return self._ask(None, self.now, catchup=False)
        return self._ask(last, self.now, catchup=True)

    def after(self, info: DagRunInfo, moment: datetime | None = None) -> DagRunInfo | None:
        """Return the run after that one, as it is at `moment`, by default now."""
        following = self._ask(info.data_interval, moment or self.now, catchup=True)
        if following is None or _place(following) > _place(info):
            return following
        raise TimetableError(
            f"The timetable {self.timetable.name} does not move on: after the interval that "
            f"starts at {info.data_interval.start} it has one at {following.data_interval.start}."
        )

    def last_due(self, last: DataInterval | None, moment: datetime) -> DagRunInfo | None:
        """Return the last run after `last` that fell due by `moment`, without a look at each."""
        found = self._newest(last, moment)
        if found is None or found.run_after > moment:
            found = self._ask(last, moment, catchup=True)
        if found is None or found.run_after > moment:
            return None
        while True:
            following = self.after(found, moment)
            if following is None or following.run_after > moment:
                return found
            found = following

    def _newest(self, last: DataInterval | None, moment: datetime) -> DagRunInfo | None:
        """Return the latest run that is over by `moment`, or one within a second before it.

        Of what starts after the end date a timetable tells nothing: it is halved out.
        """
        found = self._ask(last, moment, catchup=False)
        if found is not None or self.rules.latest is None:
            return found
        low, high = min(self.rules.latest, moment), moment
        newest = self._ask(last, low, catchup=False)
        while newest is not None and high - low > timedelta(seconds=1):
            middle = low + (high - low) / 2
            found = self._ask(last, middle, catchup=False)
            low, high = (low, middle) if found is None else (middle, high)
            newest = found or newest
        return newest

    def skipped(
        self, last: DataInterval | None, gone: DagRunInfo, reason: SkipReason
    ) -> SkippedInterval | None:
        """Return the record of what is left out after `last`, up to and with `gone`.

        A DAG without a start date has no first interval, so that none is left out.
        """
        if last is None and self.rules.earliest is None:
            return None
        first = self._ask(last, self.now, catchup=True)
        start = gone.data_interval.start if first is None else first.data_interval.start
        return SkippedInterval(start, gone, reason)

    def missed(
        self, first: DagRunInfo, dag: ScheduleState, ahead: BackfilledIntervals
    ) -> Iterator[DagRunInfo]:
        """Yield the missed runs from `first` on, as far as no other run lies between."""
        following: DagRunInfo | None = first
        for _ in range(MOST_ROLLED):
            if following is None or following.run_after > dag.since:
                return
            if ahead.has(following) or ahead.blocks(following):
                return
            yield following
            before, following = following, self.after(following)
            if following is not None and ahead.part(before, following):
                return

    def _ask(
        self, last: DataInterval | None, moment: datetime, *, catchup: bool
    ) -> DagRunInfo | None:
        bounds = self.rules.bounds(catchup=catchup)
        try:
            return self.timetable.next_dagrun_info(last, bounds, moment)
        except TimetableError:
            raise
        except Exception as error:  # one DAG's timetable must not stop the others
            name = self.timetable.name
            raise TimetableError(f"The timetable {name} failed: {error!r}.") from error


def _place(info: DagRunInfo) -> tuple[datetime, datetime, datetime]:
    """Return the order in which intervals are dealt with: what was last is found by it."""
    return info.data_interval.end, info.run_after, info.data_interval.start


def expected(
    timetable: Timetable, dag: ScheduleState, rules: ScheduleRules, now: datetime, most: int
) -> Iterator[DagRunInfo]:
    """Return the runs of a schedule that are due at `now`, `most` at most, and those to come.

    As if each found room at once, and none met another.
    """
    alone = replace(dag, unfinished=0, most=ANY)
    found = due(timetable, alone, replace(rules, overlap=Overlap.QUEUE), now, most)
    to_come = runs_on(timetable, found.following, rules.bounds(catchup=True), now)
    ahead = BackfilledIntervals(dag.backfilled, partitions=timetable.partitions)
    free = (info for info in to_come if not ahead.has(info) and not ahead.blocks(info))
    return known(timetable, chain(found.runs, free))
