"""Which intervals a backfill takes together: January 2013 begins on a Tuesday."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from headway.decide.changes.backfill import (
    Existing,
    PlannedDate,
    Way,
    judge,
    runs_again,
    runs_to_create,
)
from headway.decide.changes.backfill_dates import apart, plan_backfill, plan_dates
from headway.domain.backfill import Reprocess
from headway.domain.dag.spec import DagSpec
from headway.domain.interval import DataInterval
from headway.domain.states import RunState
from headway.timetables import registry
from headway.timetables.base import Timetable
from headway.timetables.kinds.cron import CronTimetable, DataTimetable
from headway.timetables.kinds.days import Workdays
from headway.timetables.kinds.wrapped import RollingWindow

DAY = timedelta(days=1)
NOW = datetime(2014, 1, 1, tzinfo=UTC)
DAILY = DataTimetable("0 0 * * *")
MORNINGS = CronTimetable("0 9 * * *", "UTC")
WEEKDAYS = DataTimetable("0 0 * * MON-FRI", DAY)


def jan(day: int, hour: int = 0) -> datetime:
    return datetime(2013, 1, day, hour, tzinfo=UTC)


def dag(timetable: Timetable) -> DagSpec:
    encoded = registry.encode(timetable.in_zone("UTC"))
    return DagSpec(
        dag_id="etl", relative_path="etl.py", timetable=encoded, timezone="UTC", tasks=()
    )


def days(
    timetable: Timetable, first: int, last: int, way: Way, existing: Sequence[Existing] = ()
) -> list[PlannedDate]:
    """Plan a range of days."""
    return judge(plan_backfill(dag(timetable), jan(first), jan(last), NOW), existing, way)


def single(timetable: Timetable, *numbers: int, size: int = 28) -> list[PlannedDate]:
    """Plan single days."""
    infos = plan_dates(dag(timetable), [jan(number) for number in numbers], NOW)
    return judge(infos, [], Way(rollup=size), apart(dag(timetable), infos, NOW))


def spans(dates: Sequence[PlannedDate]) -> list[tuple[int, int]]:
    its = [run.data_interval for run in runs_to_create(dates)]
    return [(interval.start.day, interval.end.day) for interval in its]


def run(number: int, start: datetime, end: datetime, *, partitions: bool = True) -> Existing:
    interval = DataInterval(start, end)
    return Existing(number, end, f"run{number}", RunState.SUCCESS, interval, partitions, 1)


@pytest.mark.parametrize(
    ("timetable", "whole", "by_six"),
    [
        (MORNINGS, [(1, 28)], [(1, 6), (7, 12), (13, 18), (19, 24), (25, 28)]),
        (WEEKDAYS, [(1, 29)], [(1, 9), (9, 17), (17, 25), (25, 29)]),
        (Workdays(), [(1, 29)], [(1, 9), (9, 17), (17, 25), (25, 29)]),
        (DAILY, [(1, 29)], [(1, 7), (7, 13), (13, 19), (19, 25), (25, 29)]),
    ],
)
def test_intervals_that_follow_each_other_are_taken_together_over_the_time_between(
    timetable: Timetable, whole: list[tuple[int, int]], by_six: list[tuple[int, int]]
) -> None:
    assert spans(days(timetable, 1, 28, Way(rollup=28))) == whole
    assert spans(days(timetable, 1, 28, Way(rollup=6))) == by_six


def test_the_run_falls_due_with_the_last_of_its_dates() -> None:
    (run,) = runs_to_create(days(MORNINGS, 1, 3, Way(rollup=9)))

    assert (run.run_after, run.data_interval) == (jan(3, 9), DataInterval(jan(1, 9), jan(3, 9)))


@pytest.mark.parametrize("timetable", [DAILY, MORNINGS, RollingWindow(DAILY, 7 * DAY)])
def test_what_is_not_asked_for_is_not_bridged(timetable: Timetable) -> None:
    found = single(timetable, 8, 9, 11, 12)

    first, last = runs_to_create(found)
    assert [date.created for date in found] == [first, first, last, last]


def test_a_weekend_between_single_days_is_bridged_and_a_day_that_is_left_out_is_not() -> None:
    """Thursday the 3rd, Friday the 4th, Monday the 7th; and Wednesday the 9th."""
    assert spans(single(WEEKDAYS, 3, 4, 7, 9)) == [(3, 8), (9, 10)]


def test_a_run_about_the_time_between_is_not_bridged() -> None:
    """By a former schedule Saturday the 5th had one."""
    saturday = run(5, jan(5), jan(6))

    assert spans(days(WEEKDAYS, 3, 8, Way(rollup=9), [saturday])) == [(3, 5), (7, 9)]


def test_a_time_that_has_a_run_is_not_bridged() -> None:
    existing = [run(2, jan(2, 9), jan(2, 9), partitions=False)]

    for reprocess in Reprocess:
        found = days(MORNINGS, 1, 4, Way(reprocess, rollup=9), existing)
        assert spans(found) == [(1, 1), (3, 4)]


def test_a_run_over_a_weekend_runs_again_with_all_of_its_days() -> None:
    over = run(1, jan(3), jan(9))
    way = Way(Reprocess.COMPLETED)

    assert runs_again(days(WEEKDAYS, 3, 8, way, [over])) == [over]
    assert runs_again(days(WEEKDAYS, 1, 10, way, [over])) == [over]
    for first, last in ((4, 8), (3, 7)):
        decisions = {str(date.decision) for date in days(WEEKDAYS, first, last, way, [over])}
        assert decisions == {"conflict"}


def test_a_run_over_a_weekend_does_not_run_again_with_some_of_its_days() -> None:
    over = run(1, jan(3), jan(9))
    infos = plan_dates(dag(WEEKDAYS), [jan(3), jan(4), jan(8)], NOW)

    found = judge(infos, [over], Way(Reprocess.COMPLETED), apart(dag(WEEKDAYS), infos, NOW))

    assert [str(date.decision) for date in found] == ["conflict"] * 3
