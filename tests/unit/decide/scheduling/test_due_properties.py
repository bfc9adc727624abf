"""What holds of any schedule, whatever is missed: no gap, no duplicate, nothing outside the window.

A scheduler is played from the first look to the last: it looks at moments of all kinds, is away
at times, has runs end at times, and stores what the decision says as the database would.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from headway.decide.scheduling.backfilled import BackfilledInterval
from headway.decide.scheduling.due import due
from headway.decide.scheduling.due_plan import DueRuns, ScheduleRules, ScheduleState
from headway.domain.dag.catchup import Catchup, Overlap, SkipReason
from headway.domain.interval import DataInterval
from headway.testing.time import every_timetable
from headway.timetables.base import DagRunInfo, Timetable
from headway.timetables.kinds.cron import CronTimetable, DataTimetable
from headway.timetables.kinds.delta import TimeDeltaTimetable
from headway.timetables.sequence import runs_between

START: Final = datetime(2013, 3, 8, tzinfo=UTC)
"""Two days before the clocks are changed in New York."""

NEW_YORK: Final = "America/New_York"
MANY: Final = 200
"""Runs in a day of a timetable whose month would take a test half a minute."""


def has_few_runs(timetable: Timetable) -> bool:
    day = runs_between(timetable, START, START, START + timedelta(days=1))
    return len(list(islice(day, MANY))) < MANY


TIMETABLES: Final = st.deferred(
    lambda: st.sampled_from(
        [
            DataTimetable("0 0 * * *", timezone=NEW_YORK),
            DataTimetable("0 */6 * * *", timezone="UTC"),
            DataTimetable("0 0 * * MON-FRI", timedelta(days=1)),
            DataTimetable("0 0 * * *", timedelta(days=7)),
            CronTimetable("30 2 * * *", NEW_YORK),
            TimeDeltaTimetable(timedelta(hours=5)),
            *filter(has_few_runs, (one.in_zone(NEW_YORK) for one in every_timetable.TIMETABLES)),
        ]
    )
)
RULES: Final = st.builds(
    ScheduleRules,
    earliest=st.just(START),
    latest=st.none() | st.just(START + timedelta(days=9)),
    catchup=st.sampled_from(Catchup),
    window=st.none() | st.just(timedelta(days=2)),
    overlap=st.sampled_from(Overlap),
)


@dataclass(frozen=True)
class Look:
    """How many hours after the one before, whether nobody was there meanwhile, and what ended."""

    hours: int
    away: bool
    all_ended: bool
    backfilled: bool


LOOKS: Final = st.lists(
    st.builds(
        Look,
        hours=st.integers(0, 60),
        away=st.booleans(),
        all_ended=st.booleans(),
        backfilled=st.booleans(),
    ),
    max_size=12,
)


@dataclass
class World:
    """What a database would hold."""

    timetable: Timetable
    rules: ScheduleRules
    now: datetime = START
    since: datetime = START
    last: DagRunInfo | None = None
    unfinished: int = 0
    runs: list[DagRunInfo] = field(default_factory=list)
    covered: list[DagRunInfo] = field(default_factory=list)
    backfilled: dict[datetime, DagRunInfo] = field(default_factory=dict)
    skipped: list[tuple[datetime, datetime, SkipReason, datetime]] = field(default_factory=list)
    most_unfinished: int = 0

    def look(self, look: Look) -> None:
        self.now += timedelta(hours=look.hours)
        if look.away:
            self.since = self.now
        if look.all_ended:
            self.unfinished = 0
        if look.backfilled:
            self._backfill()
        while True:
            found = self._decide()
            self._store(found)
            if not (found.runs or found.skipped):
                return

    def _decide(self) -> DueRuns:
        last = None if self.last is None else self.last.data_interval
        partitions = self.timetable.partitions
        backfilled = [
            BackfilledInterval(date, info.data_interval, partitions)
            for date, info in self.backfilled.items()
        ]
        state = ScheduleState(last, self.since, self.unfinished, 4, backfilled)
        return due(self.timetable, state, self.rules, self.now, at_most=2)

    def _store(self, found: DueRuns) -> None:
        dealt_with = [interval.last for interval in found.skipped]
        for interval in found.skipped:
            span = (interval.first, interval.last.data_interval.start, interval.reason, self.since)
            self.skipped.append(span)
        for run in found.runs:
            covered = found.covers.get(run.run_after, [run])
            self.runs.append(run)
            self.covered += covered
            dealt_with += covered
        self.unfinished = (0 if found.cancels else self.unfinished) + len(found.runs)
        self.most_unfinished = max(self.most_unfinished, self.unfinished)
        known = [*dealt_with, *([] if self.last is None else [self.last])]
        self.last = max(known, key=_place, default=None)

    def _backfill(self) -> None:
        """Have a backfill take the interval after the next one."""
        ahead = self._intervals(self.now + timedelta(days=9))
        free = [info for info in ahead if self.last is None or info.run_after > self.last.run_after]
        for info in free[1:2]:
            self.backfilled[info.run_after] = info

    def _intervals(self, until: datetime) -> list[DagRunInfo]:
        end = until if self.rules.latest is None else self.rules.latest
        return list(runs_between(self.timetable, START, START, end))

    def dealt_with(self) -> list[DagRunInfo]:
        """All intervals of the schedule up to the one that was dealt with last."""
        every = self._intervals(self.now)
        return [
            info
            for info in every
            if self.last is not None and info.run_after <= self.last.run_after
        ]

    def is_skipped(self, interval: DataInterval) -> bool:
        return any(first <= interval.start <= last for first, last, *_ in self.skipped)


def _place(info: DagRunInfo) -> tuple[datetime, datetime]:
    return info.data_interval.end, info.run_after


def played(timetable: Timetable, rules: ScheduleRules, looks: list[Look]) -> World:
    world = World(timetable, rules)
    for look in looks:
        world.look(look)
    return world


@given(TIMETABLES, RULES, LOOKS)
def test_every_interval_has_a_run_or_a_record_of_why_not(
    timetable: Timetable, rules: ScheduleRules, looks: list[Look]
) -> None:
    world = played(timetable, rules, looks)

    for info in world.dealt_with():
        there = info in world.covered or info.run_after in world.backfilled
        assert there or world.is_skipped(info.data_interval)


@given(TIMETABLES, RULES, LOOKS)
def test_no_interval_has_two_runs(
    timetable: Timetable, rules: ScheduleRules, looks: list[Look]
) -> None:
    world = played(timetable, rules, looks)

    dates = [info.run_after for info in world.covered]
    assert len(set(dates)) == len(dates)
    assert world.backfilled.keys().isdisjoint(dates)
    if timetable.partitions:
        every = [*world.runs, *world.backfilled.values()]
        spans = sorted(run.data_interval for run in every)
        assert all(one.end <= other.start for one, other in pairwise(spans))


@given(TIMETABLES, RULES, LOOKS)
def test_nothing_is_run_before_its_time_or_outside_its_bounds(
    timetable: Timetable, rules: ScheduleRules, looks: list[Look]
) -> None:
    world = played(timetable, rules, looks)

    for info in world.covered:
        assert START <= info.data_interval.start <= (rules.latest or world.now)
        assert info.run_after <= world.now


@given(TIMETABLES, RULES, LOOKS)
def test_what_was_left_out_was_missed_and_outside_the_window(
    timetable: Timetable, rules: ScheduleRules, looks: list[Look]
) -> None:
    world = played(timetable, rules, looks)

    dates = {info.data_interval.start: info.run_after for info in world.dealt_with()}
    for _, last, reason, since in world.skipped:
        if reason is SkipReason.WINDOW:
            assert rules.window is not None
            assert dates[last] < since - rules.window
        elif reason is SkipReason.CATCHUP:
            assert rules.catchup in {Catchup.NONE, Catchup.LATEST}
            assert dates[last] <= since
        else:
            assert rules.overlap is not Overlap.QUEUE
            assert dates[last] > since


@given(TIMETABLES, RULES, LOOKS)
def test_limits_hold(timetable: Timetable, rules: ScheduleRules, looks: list[Look]) -> None:
    world = played(timetable, rules, looks)

    assert world.most_unfinished <= (4 if rules.overlap is Overlap.QUEUE else 1)


@given(TIMETABLES, RULES, LOOKS)
def test_to_catch_up_with_all_in_time_leaves_nothing_out(
    timetable: Timetable, rules: ScheduleRules, looks: list[Look]
) -> None:
    every = ScheduleRules(START, rules.latest, Catchup.ALL)

    assert played(timetable, every, looks).skipped == []
