"""What is due, with dates worked out by hand: January 2013 begins on a Tuesday."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from headway.decide.scheduling.backfilled import BackfilledInterval
from headway.decide.scheduling.due import due
from headway.decide.scheduling.due_plan import (
    ANY,
    DueRuns,
    ScheduleRules,
    ScheduleState,
    SkippedInterval,
)
from headway.domain.dag.catchup import Catchup, Overlap, SkipReason
from headway.domain.errors import TimetableError
from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo, TimeRestriction, Timetable
from headway.timetables.kinds.cron import CronTimetable, DataTimetable
from headway.timetables.kinds.delta import TimeDeltaTimetable
from headway.timetables.kinds.events import EventsTimetable
from headway.timetables.kinds.recurring import Recurring
from headway.timetables.kinds.simple import ContinuousTimetable, NullTimetable, OnceTimetable
from headway.timetables.kinds.wrapped import Delayed, RollingWindow

DAILY: Final = DataTimetable("0 0 * * *")
HOURLY: Final = DataTimetable("0 * * * *")
DAY: Final = timedelta(days=1)
MOMENT: Final = timedelta.resolution


def jan(day: int, hour: int = 0) -> datetime:
    return datetime(2013, 1, day, hour, tzinfo=UTC)


def day(number: int) -> DagRunInfo:
    return DagRunInfo.once_over(DataInterval(jan(number), jan(number + 1)))


def rules(catchup: Catchup = Catchup.ALL, **changes: object) -> ScheduleRules:
    return replace(ScheduleRules(earliest=jan(1), catchup=catchup), **changes)  # type: ignore[arg-type]


TENTH: Final = jan(10)


def dag(last: int | None = None, since: datetime = TENTH, **changes: object) -> ScheduleState:
    """Return a DAG whose run about that day was the last one."""
    interval = None if last is None else day(last).data_interval
    return replace(ScheduleState(interval, since), **changes)  # type: ignore[arg-type]


def decide(
    state: ScheduleState,
    rules: ScheduleRules,
    now: datetime,
    timetable: Timetable = DAILY,
    at_most: int = 100,
) -> DueRuns:
    return due(timetable, state, rules, now, at_most)


def backfilled(*numbers: int) -> list[BackfilledInterval]:
    """Return what backfills have: runs about those days."""
    return [
        BackfilledInterval(day(n).run_after, day(n).data_interval, partitions=True) for n in numbers
    ]


def days_due(found: DueRuns) -> list[int]:
    return [info.data_interval.start.day for info in found.runs]


def left_out(found: DueRuns) -> list[tuple[int, int, str]]:
    """Return the first and the last day of what has no run of its own, and why."""
    return [
        (interval.first.day, interval.last.data_interval.start.day, interval.reason)
        for interval in found.skipped
    ]


def test_a_day_is_due_once_it_is_over_and_not_before() -> None:
    assert decide(dag(), rules(), jan(2) - MOMENT) == DueRuns([], day(1))
    assert decide(dag(), rules(), jan(2)) == DueRuns([day(1)], day(2))


def test_all_that_was_missed_is_run_oldest_first() -> None:
    found = decide(dag(since=jan(5, 12)), rules(), jan(5, 12))

    assert days_due(found) == [1, 2, 3, 4]
    assert (found.following, found.skipped) == (day(5), [])


def test_of_what_was_missed_only_the_latest_is_run() -> None:
    found = decide(dag(since=jan(5, 12)), rules(Catchup.LATEST), jan(5, 12))

    assert days_due(found) == [4]
    assert found.following == day(5)
    assert left_out(found) == [(1, 3, "catchup")]


def test_the_latest_is_run_without_a_word_when_it_is_the_only_one() -> None:
    found = decide(dag(3, since=jan(5, 12)), rules(Catchup.LATEST), jan(5, 12))

    assert (days_due(found), found.skipped) == ([4], [])


def test_nothing_that_was_missed_is_run() -> None:
    found = decide(dag(since=jan(5, 12)), rules(Catchup.NONE), jan(5, 12))

    assert found.runs == []
    assert found.following == day(5)
    assert left_out(found) == [(1, 4, "catchup")]


def test_what_falls_due_later_is_not_missed_however_late_it_is_looked_at() -> None:
    """The DAG was new on the 5th at noon, and had no room until the 8th."""
    for catchup, expected in (
        (Catchup.NONE, [5, 6, 7]),
        (Catchup.LATEST, [4, 5, 6, 7]),
        (Catchup.ALL, [1, 2, 3, 4, 5, 6, 7]),
        (Catchup.ROLLUP, [1, 5, 6, 7]),
    ):
        found = decide(dag(since=jan(5, 12)), rules(catchup), jan(8, 12))

        assert (catchup, days_due(found)) == (catchup, expected)


def test_what_was_missed_is_rolled_up_into_one_run_that_covers_each() -> None:
    found = decide(dag(2, since=jan(6, 12)), rules(Catchup.ROLLUP), jan(6, 12))

    rolled = DagRunInfo(jan(6), DataInterval(jan(3), jan(6)))
    assert found.runs == [rolled]
    assert found.covers == {jan(6): [day(3), day(4), day(5)]}
    assert found.following == day(6)


def test_one_missed_interval_needs_no_rollup() -> None:
    found = decide(dag(2, since=jan(4)), rules(Catchup.ROLLUP), jan(4, 12))

    assert (found.runs, found.covers) == ([day(3)], {})


def test_a_rollup_is_divided_where_a_backfill_has_an_interval() -> None:
    found = decide(dag(1, since=jan(8), backfilled=backfilled(4)), rules(Catchup.ROLLUP), jan(8))

    assert [info.data_interval for info in found.runs] == [
        DataInterval(jan(2), jan(4)),
        DataInterval(jan(5), jan(8)),
    ]
    assert list(found.covers) == [jan(4), jan(8)]


def test_a_rollup_over_weekdays_reaches_from_the_first_start_to_the_last_end() -> None:
    """Thursday the 3rd, Friday the 4th and Monday the 7th; nothing runs about the weekend."""
    weekdays = DataTimetable("0 0 * * MON-FRI", DAY)

    found = decide(dag(2, since=jan(8)), rules(Catchup.ROLLUP), jan(8), weekdays)

    assert [info.data_interval for info in found.runs] == [DataInterval(jan(3), jan(8))]
    assert [info.data_interval.start.day for info in found.covers[jan(8)]] == [3, 4, 7]
    assert found.following == day(8)


def test_a_rollup_does_not_reach_over_what_a_backfill_has_between_intervals() -> None:
    """By a former schedule the backfill has a run about Saturday the 5th."""
    weekdays = DataTimetable("0 0 * * MON-FRI", DAY)

    found = decide(
        dag(2, since=jan(9), backfilled=backfilled(5)), rules(Catchup.ROLLUP), jan(9), weekdays
    )

    spans = [(info.data_interval.start.day, info.data_interval.end.day) for info in found.runs]
    assert (spans, found.skipped) == ([(3, 5), (7, 9)], [])


def test_a_rollup_of_exact_times_covers_each() -> None:
    noon = CronTimetable("0 12 * * *", "UTC")

    found = decide(dag(since=jan(4)), rules(Catchup.ROLLUP), jan(4), noon)

    assert found.runs == [DagRunInfo(jan(3, 12), DataInterval(jan(1, 12), jan(3, 12)))]
    assert [info.run_after for info in found.covers[jan(3, 12)]] == [jan(n, 12) for n in (1, 2, 3)]


def test_what_is_older_than_the_window_is_left_out() -> None:
    """Two days before the 10th at noon: the run about the 8th, due on the 9th, is the first."""
    for catchup, expected in (
        (Catchup.ALL, [8, 9]),
        (Catchup.ROLLUP, [8]),
    ):
        recent = rules(catchup, window=2 * DAY)
        found = decide(dag(3, since=jan(10, 12)), recent, jan(10, 12))

        assert (catchup, days_due(found)) == (catchup, expected)
        assert left_out(found) == [(4, 7, "window")]


def test_a_run_that_fell_due_exactly_a_window_ago_is_within_it() -> None:
    found = decide(dag(3, since=jan(10)), rules(window=2 * DAY), jan(10))

    assert days_due(found) == [7, 8, 9]
    assert left_out(found) == [(4, 6, "window")]


def test_the_window_does_not_move_while_what_is_in_it_waits_for_room() -> None:
    found = decide(dag(7, since=jan(10)), rules(window=2 * DAY), jan(20), at_most=1)

    assert (days_due(found), found.skipped) == ([8], [])


def test_the_latest_is_left_out_as_well_when_the_window_is_too_short() -> None:
    found = decide(
        dag(3, since=jan(10, 12)), rules(Catchup.LATEST, window=timedelta(hours=6)), jan(10, 12)
    )

    assert (days_due(found), found.following) == ([], day(10))
    assert left_out(found) == [(4, 9, "window")]


def test_no_more_than_there_is_room_for_and_the_next_one_waits() -> None:
    assert decide(dag(most=2), rules(), jan(10)) == DueRuns([day(1), day(2)], day(3))
    assert decide(dag(most=2, unfinished=1), rules(), jan(10)) == DueRuns([day(1)], day(2))
    assert decide(dag(most=2, unfinished=2), rules(), jan(10)) == DueRuns([], day(1))


def test_no_more_than_was_asked_for() -> None:
    assert decide(dag(), rules(), jan(10), at_most=3) == DueRuns([day(1), day(2), day(3)], day(4))


def test_a_rollup_takes_the_room_of_one_run() -> None:
    found = decide(dag(most=2, unfinished=1), rules(Catchup.ROLLUP), jan(12))

    assert [info.data_interval for info in found.runs] == [DataInterval(jan(1), jan(10))]
    assert found.following == day(10)


def test_an_interval_that_a_backfill_has_is_passed_over_and_takes_up_no_room() -> None:
    found = decide(dag(most=2, backfilled=backfilled(1, 3)), rules(), jan(10))

    assert days_due(found) == [2, 4]
    assert found.following == day(5)


WEEKLY: Final = DataTimetable("0 0 * * SUN")
"""Sundays are the 6th, the 13th and the 20th."""


def test_what_a_backfill_of_another_schedule_has_a_part_of_is_left_out_with_a_word() -> None:
    """The run about Saturday the 12th has the same date as that about the week from the 6th."""
    last = ScheduleState(DataInterval(jan(1), jan(6)), jan(20), backfilled=backfilled(12))

    found = due(WEEKLY, last, rules(), jan(20), 100)

    assert days_due(found) == [13]
    assert left_out(found) == [(6, 6, "conflict")]


def test_a_date_that_a_backfill_has_for_another_interval_is_not_taken() -> None:
    """By a delay of a week, since removed, the run about the 3rd had the date of the 11th."""
    other = BackfilledInterval(day(10).run_after, day(3).data_interval, partitions=True)

    assert days_due(decide(dag(9, since=jan(12), backfilled=[other]), rules(), jan(12))) == [10, 11]


def test_times_are_not_kept_from_running_by_what_is_about_a_day() -> None:
    noon = CronTimetable("0 12 * * *", "UTC")

    found = decide(dag(since=jan(3), backfilled=backfilled(1, 2)), rules(), jan(3), noon)

    assert (days_due(found), found.skipped) == ([1, 2], [])


def test_what_is_rolled_up_at_once_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.decide.scheduling.due.MOST_ROLLED", 3)

    found = decide(dag(since=jan(20)), rules(Catchup.ROLLUP), jan(20))

    spans = [(info.data_interval.start.day, info.data_interval.end.day) for info in found.runs]
    assert (spans, found.following) == ([(1, 4)], day(4))


def test_a_rollup_is_divided_by_what_cannot_run() -> None:
    half = BackfilledInterval(jan(5), DataInterval(jan(4, 6), jan(5)), partitions=True)

    found = decide(dag(1, since=jan(8), backfilled=[half]), rules(Catchup.ROLLUP), jan(8))

    spans = [(info.data_interval.start.day, info.data_interval.end.day) for info in found.runs]
    assert spans == [(2, 4), (5, 8)]
    assert left_out(found) == [(4, 4, "conflict")]


def test_records_of_what_is_left_out_do_not_reach_over_what_has_a_run() -> None:
    skipping = rules(overlap=Overlap.SKIP)

    found = decide(dag(4, since=jan(1), unfinished=1, backfilled=backfilled(6)), skipping, jan(9))

    assert left_out(found) == [(5, 5, "overlap"), (7, 8, "overlap")]


def test_a_run_is_skipped_that_falls_due_while_one_has_not_ended() -> None:
    skipping = rules(overlap=Overlap.SKIP)

    assert days_due(decide(dag(4, since=jan(1)), skipping, jan(6))) == [5]
    found = decide(dag(4, since=jan(1), unfinished=1), skipping, jan(6))

    assert found.runs == []
    assert left_out(found) == [(5, 5, "overlap")]
    assert (found.following, found.below) == (day(6), ANY)


def test_of_several_that_are_due_at_once_the_first_is_run_and_the_others_skipped() -> None:
    found = decide(dag(4, since=jan(1)), rules(overlap=Overlap.SKIP), jan(9))

    assert days_due(found) == [5]
    assert left_out(found) == [(6, 8, "overlap")]


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.CANCEL_RUNNING])
def test_what_is_caught_up_is_run_one_after_the_other_where_runs_must_not_overlap(
    overlap: Overlap,
) -> None:
    catching_up = rules(overlap=overlap)

    free = decide(dag(4, since=jan(9)), catching_up, jan(9))
    busy = decide(dag(5, since=jan(9), unfinished=1), catching_up, jan(9))

    assert (days_due(free), free.following, free.below) == ([5], day(6), 1)
    assert (busy.runs, busy.skipped, busy.following, busy.below) == ([], [], day(6), 1)
    assert not busy.cancels


def test_a_run_that_is_due_takes_the_place_of_one_that_has_not_ended() -> None:
    replacing = rules(overlap=Overlap.CANCEL_RUNNING)

    free = decide(dag(4, since=jan(1)), replacing, jan(6))
    busy = decide(dag(4, since=jan(1), unfinished=2), replacing, jan(6))

    assert (days_due(free), free.cancels) == ([5], False)
    assert (days_due(busy), busy.cancels, busy.skipped) == ([5], True, [])
    assert (busy.following, busy.below) == (day(6), ANY)


def test_of_several_that_are_due_at_once_the_newest_is_run_where_it_takes_the_place() -> None:
    found = decide(dag(4, since=jan(1)), rules(overlap=Overlap.CANCEL_RUNNING), jan(9))

    assert (days_due(found), found.cancels) == ([8], False)
    assert left_out(found) == [(5, 7, "overlap")]


def test_a_run_that_was_just_caught_up_is_not_dropped_unseen() -> None:
    found = decide(dag(4, since=jan(6)), rules(overlap=Overlap.CANCEL_RUNNING), jan(7))

    assert (days_due(found), found.following, found.below) == ([5], day(6), ANY)
    assert found.skipped == []


def test_after_the_end_date_there_is_nothing_to_follow() -> None:
    found = decide(dag(), rules(latest=jan(2)), jan(10))

    assert days_due(found) == [1, 2]
    assert found.following is None


@pytest.mark.parametrize(("catchup", "expected"), [(Catchup.NONE, []), (Catchup.LATEST, [2])])
def test_what_was_missed_ends_with_the_end_date(catchup: Catchup, expected: list[int]) -> None:
    found = decide(dag(), rules(catchup, latest=jan(2)), jan(10))

    assert (days_due(found), found.following) == (expected, None)
    assert left_out(found) == [(1, 1 if expected else 2, "catchup")]


def test_a_schedule_without_a_next_run_is_asked_again_unless_it_has_ended() -> None:
    """The dates that are listed are over; the end date is to come, or has passed."""
    dates = EventsTimetable([jan(3)])
    hour = timedelta(hours=1)

    assert decide(dag(), rules(), jan(10), dates).again == jan(10) + hour
    assert decide(dag(), rules(latest=jan(11)), jan(10), dates).again == jan(10) + hour
    assert decide(dag(), rules(latest=jan(10)), jan(10), dates).again == jan(10) + hour
    assert decide(dag(), rules(latest=jan(9)), jan(10), dates).again is None
    assert decide(dag(), rules(), jan(10)).again is None, "it has a next run"


def test_a_dag_without_a_schedule_is_never_due() -> None:
    assert decide(dag(), rules(), jan(10), NullTimetable()) == DueRuns([], None)


@pytest.mark.parametrize("catchup", Catchup)
def test_once_is_once_and_never_missed(catchup: Catchup) -> None:
    found = decide(dag(), rules(catchup), jan(10), OnceTimetable())

    assert found == DueRuns([DagRunInfo.once_over(DataInterval.exact(jan(1)))], None)
    delayed = decide(dag(), rules(catchup), jan(10), Delayed(OnceTimetable(), DAY))
    assert delayed == DueRuns([DagRunInfo(jan(2), DataInterval.exact(jan(1)))], None)


@pytest.mark.parametrize("catchup", [Catchup.NONE, Catchup.LATEST])
def test_without_a_start_date_nothing_is_left_out(catchup: Catchup) -> None:
    found = decide(dag(since=jan(5, 12)), rules(catchup, earliest=None), jan(5, 12))

    assert days_due(found) == ([4] if catchup is Catchup.LATEST else [])
    assert (found.following, found.skipped) == (day(5), [])


def test_without_a_start_date_the_latest_is_the_last_one_before_the_end_date() -> None:
    found = decide(dag(), rules(Catchup.LATEST, earliest=None, latest=jan(5, 12)), TENTH)

    assert (days_due(found), found.following, found.skipped) == ([5], None, [])


@pytest.mark.parametrize("catchup", [Catchup.NONE, Catchup.LATEST])
@pytest.mark.parametrize(
    ("timetable", "first"),
    [
        (EventsTimetable([jan(20), jan(21)]), DataInterval.exact(jan(20))),
        (Delayed(EventsTimetable([jan(20)]), DAY), DataInterval.exact(jan(20))),
        (DAILY & EventsTimetable([jan(20)]), DataInterval(jan(20), jan(21))),
        (
            RollingWindow(EventsTimetable([jan(20), jan(21)]), 15 * DAY),
            DataInterval(jan(5), jan(20)),
        ),
        (
            DataTimetable("0 0 * * *", 7 * DAY) & EventsTimetable([jan(8), jan(9), jan(20)]),
            DataInterval(jan(8), jan(15)),
        ),
    ],
)
def test_without_a_start_date_what_is_to_come_is_run_when_it_comes(
    catchup: Catchup, timetable: Timetable, first: DataInterval
) -> None:
    """On the 10th nothing is over; some is under way."""
    new, open_rules = dag(since=jan(10)), rules(catchup, earliest=None)

    found = decide(new, open_rules, jan(10), timetable)

    assert found.following is not None
    assert (found.runs, found.following.data_interval) == ([], first)
    later = decide(new, open_rules, found.following.run_after, timetable)
    assert [info.data_interval for info in later.runs] == [first]


@pytest.mark.parametrize("catchup", Catchup)
def test_what_runs_continuously_goes_on_where_it_was(catchup: Catchup) -> None:
    """The last run was about the 4th; from the 6th to the 8th nobody scheduled."""
    found = decide(dag(4, since=jan(8)), rules(catchup), jan(8), ContinuousTimetable())

    missed = DagRunInfo(jan(8), DataInterval(jan(5), jan(8)))
    assert (found.runs, found.skipped) == ([missed], [])
    delayed = Delayed(ContinuousTimetable(), timedelta(hours=6))
    found = decide(dag(4, since=jan(8)), rules(catchup), jan(8), delayed)
    missed = DagRunInfo(jan(8), DataInterval(jan(5), jan(7, 18)))
    assert (found.runs, found.skipped) == ([missed], [])


def test_a_dag_that_was_paused_for_a_month_goes_on_as_its_catchup_says() -> None:
    """Paused from January 5th to February 5th at noon: 31 days were missed."""
    february = datetime(2013, 2, 5, 12, tzinfo=UTC)
    paused = dag(4, since=february, most=100)

    every = decide(paused, rules(), february)
    rolled = decide(paused, rules(Catchup.ROLLUP), february)
    none = decide(paused, rules(Catchup.NONE), february)

    assert len(every.runs) == len(rolled.covers[datetime(2013, 2, 5, tzinfo=UTC)]) == 31
    assert [info.data_interval.start for info in rolled.runs] == [jan(5)]
    eve = DataInterval(datetime(2013, 2, 4, tzinfo=UTC), datetime(2013, 2, 5, tzinfo=UTC))
    assert none.skipped == [SkippedInterval(jan(5), DagRunInfo.once_over(eve), SkipReason.CATCHUP)]


def test_a_schedule_that_becomes_finer_goes_on_where_the_old_one_ended() -> None:
    found = decide(dag(4, since=jan(5, 3)), rules(), jan(5, 3), HOURLY)

    assert [info.data_interval.start for info in found.runs] == [jan(5), jan(5, 1), jan(5, 2)]


def test_a_schedule_that_becomes_coarser_leads_over_by_a_shorter_interval() -> None:
    """The last hour ended on the 5th at three; the day from then on is about the rest of it."""
    last = ScheduleState(DataInterval(jan(5, 2), jan(5, 3)), jan(5, 3))

    found = decide(last, rules(), jan(7))

    assert [info.data_interval for info in found.runs] == [
        DataInterval(jan(5, 3), jan(6)),
        DataInterval(jan(6), jan(7)),
    ]


@pytest.mark.parametrize(("earliest", "expected"), [(1, [5, 6]), (4, [5, 6]), (6, [6])])
def test_a_start_date_that_moves_repeats_nothing(earliest: int, expected: list[int]) -> None:
    found = decide(dag(4, since=jan(1)), rules(earliest=jan(earliest)), jan(7))

    assert days_due(found) == expected


def test_a_start_date_that_moves_back_before_the_first_run_is_caught_up() -> None:
    moved = rules(earliest=jan(3))

    assert days_due(decide(dag(since=jan(6)), moved, jan(6))) == [3, 4, 5]


class Stuck(TimeDeltaTimetable):
    """A timetable of somebody else, which does not move on."""

    def next_dagrun_info(
        self, last: DataInterval | None, restriction: TimeRestriction, now: datetime
    ) -> DagRunInfo | None:
        return day(1)


class Broken(TimeDeltaTimetable):
    """A timetable of somebody else, with a bug."""

    def next_dagrun_info(
        self, last: DataInterval | None, restriction: TimeRestriction, now: datetime
    ) -> DagRunInfo | None:
        raise ZeroDivisionError


@pytest.mark.parametrize("catchup", Catchup)
@pytest.mark.parametrize(("kind", "problem"), [(Stuck, "does not move on"), (Broken, "Zero")])
def test_a_timetable_that_fails_is_told_of(
    kind: type[TimeDeltaTimetable], problem: str, catchup: Catchup
) -> None:
    with pytest.raises(TimetableError, match=problem):
        decide(dag(), rules(catchup), jan(10), kind(DAY))


@pytest.mark.parametrize("delay", [None, timedelta(hours=7)])
def test_the_last_window_before_an_end_date_long_past_is_found_at_once(
    delay: timedelta | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of windows of a month every minute, 43,200 start by the end date and end after it."""
    questions = 0
    ask = Recurring.next_dagrun_info

    def counted(*given: object) -> DagRunInfo | None:
        nonlocal questions
        questions += 1
        return ask(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Recurring, "next_dagrun_info", counted)
    windows: Timetable = RollingWindow(CronTimetable("* * * * *"), 30 * DAY)
    windows = windows if delay is None else Delayed(windows, delay)
    until = rules(Catchup.NONE, latest=jan(5))

    found = decide(dag(since=jan(1) + 400 * DAY), until, jan(1) + 401 * DAY, windows)

    (skipped,) = found.skipped
    assert skipped.last.data_interval == DataInterval(jan(5), jan(5) + 30 * DAY)
    assert (found.runs, found.following) == ([], None)
    assert questions < 100
