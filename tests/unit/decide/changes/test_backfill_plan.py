from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from headway.decide.changes.backfill import Existing, Way, judge, places, runs_again, runs_to_create
from headway.domain.backfill import Direction, Reprocess
from headway.domain.errors import RequestError
from headway.domain.interval import DataInterval
from headway.domain.states import RunState
from headway.timetables.base import DagRunInfo

ZONE = ZoneInfo("America/New_York")


def jan(day: int) -> datetime:
    return datetime(2013, 1, day, tzinfo=ZONE)


def days(*numbers: int) -> list[DagRunInfo]:
    return [DagRunInfo.once_over(DataInterval(jan(day), jan(day + 1))) for day in numbers]


def run(day: int, state: RunState, until: int | None = None) -> Existing:
    """A run of that day, or until another one began."""
    interval = DataInterval(jan(day), jan(until or day + 1))
    return Existing(day, jan(until or day + 1), f"run{day}", state, interval, True, 1)


WELL, FAILED, RUNNING = run(1, RunState.SUCCESS), run(2, RunState.FAILED), run(3, RunState.RUNNING)


@pytest.mark.parametrize(
    ("reprocess", "decisions"),
    [
        (Reprocess.NONE, "skip skip conflict create"),
        (Reprocess.FAILED, "skip rerun conflict create"),
        (Reprocess.COMPLETED, "rerun rerun conflict create"),
    ],
)
def test_what_becomes_of_dates_that_have_runs(reprocess: Reprocess, decisions: str) -> None:
    dates = judge(days(1, 2, 3, 4), [RUNNING, FAILED, WELL], Way(reprocess))

    assert [str(date.decision) for date in dates] == decisions.split()
    assert [date.existing for date in dates] == [WELL, FAILED, RUNNING, None]
    assert "run3 is running" in dates[2].reason


def test_a_run_over_more_than_the_date_is_in_its_way() -> None:
    month = run(2, RunState.SUCCESS, until=5)

    for asked, apart in ((days(1, 2, 3), []), (days(3, 4, 5), []), (days(2, 4), days(4))):
        dates = judge(asked, [month], Way(Reprocess.COMPLETED), apart)

        decisions = [str(date.decision) for date in dates]
        assert decisions == ["conflict" if info in days(2, 3, 4) else "create" for info in asked]
        assert "run2 is about 2013-01-02 00:00 to 2013-01-05 00:00" in dates[1].reason


@pytest.mark.parametrize("state", [RunState.SUCCESS, RunState.RUNNING])
@pytest.mark.parametrize("partitions", [True, False])
def test_a_run_over_several_dates_that_are_all_asked_for_is_one_of_these(
    state: RunState, partitions: bool
) -> None:
    """It is known at each of its dates where intervals may overlap."""
    whole = replace(run(2, state, until=5), partitions=partitions)
    known = [whole] if partitions else [replace(whole, schedule_date=jan(n)) for n in (3, 4, 5)]

    dates = judge(days(1, 2, 3, 4, 5), known, Way(Reprocess.COMPLETED, rollup=3))

    decision = "rerun" if state == "success" else "conflict"
    assert [str(date.decision) for date in dates] == ["create", *[decision] * 3, "create"]
    again = runs_again(dates)
    assert [run.id for run in again] == [2] * (decision == "rerun")
    assert len(places(dates)) == 2 + len(again)
    assert {run.schedule_date for run in again} < places(dates).keys()


def test_a_date_is_known_by_its_own_where_intervals_may_overlap() -> None:
    week = Existing(1, jan(8), "week", RunState.SUCCESS, DataInterval(jan(1), jan(8)), False, 1)
    infos = [DagRunInfo.once_over(DataInterval(jan(n), jan(n + 7))) for n in (1, 2)]

    assert [date.existing for date in judge(infos, [week], Way())] == [week, None]


def test_of_two_runs_at_a_date_it_is_known_by_the_one_about_its_interval() -> None:
    """The other one is of a former schedule: it began sooner, or later."""
    day = run(7, RunState.SUCCESS)
    for start, number in ((jan(1), 1), (jan(7).replace(hour=12), 9)):
        former = Existing(
            number, jan(8), "former", RunState.FAILED, DataInterval(start, jan(8)), False, 1
        )

        (date,) = judge(days(7), [former, day], Way())

        assert date.existing == day


def test_intervals_are_taken_together_up_to_a_date_that_is_left_alone() -> None:
    infos = days(1, 2, 3, 4, 5, 6, 7, 9)

    dates = judge(infos, [run(4, RunState.SUCCESS)], Way(rollup=2), days(9))

    assert [date.info for date in dates] == infos
    assert [
        (info.data_interval.start, info.data_interval.end) for info in runs_to_create(dates)
    ] == [
        (jan(1), jan(3)),
        (jan(3), jan(4)),
        (jan(5), jan(7)),
        (jan(7), jan(8)),
        (jan(9), jan(10)),
    ]
    assert dates[0].created is dates[1].created
    assert dates[0].reason == "It has no run; 2 intervals get one together."
    assert dates[2].reason == "It has no run."


def test_backward_means_the_newest_first_and_the_same_runs() -> None:
    way = Way(rollup=2, direction=Direction.BACKWARD)

    starts = [
        info.data_interval.start for info in runs_to_create(judge(days(1, 2, 3, 4, 5), [], way))
    ]

    assert starts == [jan(5), jan(3), jan(1)]


@pytest.mark.parametrize("direction", Direction)
def test_runs_may_start_at_once_in_the_order_of_the_plan(direction: Direction) -> None:
    way = Way(Reprocess.FAILED, direction)
    dates = judge(days(1, 2, 3, 4), [WELL, FAILED], way)

    found = places(dates)

    order = [jan(3), jan(4), jan(5)]
    assert sorted(found, key=found.__getitem__) == order[:: 1 if way.direction == "forward" else -1]
    assert jan(4) < min(found.values()) < max(found.values()) < jan(5)


def test_a_rollup_of_nothing_is_refused() -> None:
    with pytest.raises(RequestError, match="at least 1 interval together, not 0"):
        judge(days(1), [], Way(rollup=0))
