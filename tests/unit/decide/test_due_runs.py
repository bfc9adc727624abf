from datetime import UTC, datetime, timedelta

import pytest

from headway.decide.due import Due, due
from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo, TimeRestriction
from headway.timetables.cron import DataTimetable
from headway.timetables.simple import NullTimetable, OnceTimetable

DAILY = DataTimetable("0 0 * * *", "UTC")


def jan(day: int, hour: int = 0) -> datetime:
    return datetime(2013, 1, day, hour, tzinfo=UTC)


def day(number: int) -> DagRunInfo:
    return DagRunInfo.once_over(DataInterval(jan(number), jan(number + 1)))


def bounds(*, catchup: bool, latest: datetime | None = None) -> TimeRestriction:
    return TimeRestriction(jan(1), latest, catchup=catchup)


def days_due(found: Due) -> list[int]:
    return [info.data_interval.start.day for info in found.runs]


def test_a_day_is_due_once_it_is_over_and_not_before() -> None:
    a_moment = timedelta(microseconds=1)

    assert due(DAILY, None, bounds(catchup=True), jan(2) - a_moment, 10) == Due([], day(1))
    assert due(DAILY, None, bounds(catchup=True), jan(2), 10) == Due([day(1)], day(2))


def test_with_catchup_every_missed_day_is_due_oldest_first() -> None:
    found = due(DAILY, None, bounds(catchup=True), jan(5, 12), 10)

    assert days_due(found) == [1, 2, 3, 4]
    assert found.following == day(5)


def test_without_catchup_only_the_latest_complete_day_is() -> None:
    found = due(DAILY, None, bounds(catchup=False), jan(5, 12), 10)

    assert days_due(found) == [4]
    assert found.following == day(5)


@pytest.mark.parametrize(("catchup", "expected"), [(True, [3, 4, 5]), (False, [5])])
def test_what_is_due_follows_the_last_interval(catchup: bool, expected: list[int]) -> None:
    found = due(DAILY, day(2).data_interval, bounds(catchup=catchup), jan(6), 10)

    assert days_due(found) == expected


def test_no_more_than_there_is_room_for_and_the_next_one_waits() -> None:
    found = due(DAILY, None, bounds(catchup=True), jan(10), 2)

    assert days_due(found) == [1, 2]
    assert found.following == day(3)


def test_without_room_nothing_is_due_but_the_next_run_is_known() -> None:
    assert due(DAILY, None, bounds(catchup=True), jan(10), 0) == Due([], day(1))


def test_an_interval_that_a_backfill_has_is_passed_over_and_takes_up_no_room() -> None:
    taken = [jan(2), jan(4)]

    found = due(DAILY, None, bounds(catchup=True), jan(10), 2, taken)

    assert days_due(found) == [2, 4]
    assert found.following == day(5)


def test_after_the_end_date_there_is_nothing_to_follow() -> None:
    found = due(DAILY, None, bounds(catchup=True, latest=jan(2)), jan(10), 10)

    assert days_due(found) == [1, 2]
    assert found.following is None


def test_a_dag_without_a_schedule_is_never_due() -> None:
    assert due(NullTimetable(), None, bounds(catchup=True), jan(10), 10) == Due([], None)


def test_once_is_once() -> None:
    found = due(OnceTimetable(), None, bounds(catchup=True), jan(10), 10)

    assert found == Due([DagRunInfo.once_over(DataInterval.exact(jan(1)))], None)


def test_an_interval_that_a_backfill_has_is_passed_over() -> None:
    taken = {day(1).run_after, day(2).run_after}

    found = due(DAILY, None, bounds(catchup=True), jan(5, 12), 2, taken)

    assert days_due(found) == [3, 4]
    assert found.following == day(5)
