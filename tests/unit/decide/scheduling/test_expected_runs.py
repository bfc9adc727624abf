"""What a DAG is told to have next."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

from headway.decide.scheduling.backfilled import BackfilledInterval
from headway.decide.scheduling.due import expected
from headway.decide.scheduling.due_plan import ScheduleRules, ScheduleState
from headway.domain.dag.catchup import Catchup, Overlap
from headway.domain.interval import DataInterval
from headway.timetables.base import Timetable
from headway.timetables.kinds.cron import DataTimetable
from headway.timetables.kinds.simple import ContinuousTimetable
from headway.timetables.kinds.wrapped import Delayed


def jan(day: int) -> datetime:
    return datetime(2013, 1, day, tzinfo=UTC)


NEW = ScheduleState(last=None, since=jan(5))
RULES = ScheduleRules(earliest=jan(1), catchup=Catchup.ALL)


def days(
    dag: ScheduleState, rules: ScheduleRules, number: int, timetable: Timetable | None = None
) -> list[tuple[int, int]]:
    found = expected(timetable or DataTimetable("@daily"), dag, rules, jan(5), number)
    intervals = [info.data_interval for info in islice(found, number)]
    return [(interval.start.day, interval.end.day) for interval in intervals]


def test_what_is_due_comes_before_what_is_to_come() -> None:
    assert days(NEW, RULES, 6) == [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)]


def test_what_catchup_leaves_out_does_not_come_and_what_it_joins_comes_as_one() -> None:
    assert days(NEW, replace(RULES, catchup=Catchup.NONE), 2) == [(5, 6), (6, 7)]
    assert days(NEW, replace(RULES, catchup=Catchup.LATEST), 2) == [(4, 5), (5, 6)]
    assert days(NEW, replace(RULES, catchup=Catchup.ROLLUP), 2) == [(1, 5), (5, 6)]


def test_neither_limits_nor_overlaps_hold_anything_back() -> None:
    full = replace(NEW, unfinished=1, most=1)

    assert days(full, replace(RULES, overlap=Overlap.SKIP), 3) == [(1, 2), (2, 3), (3, 4)]


def test_what_a_backfill_has_taken_does_not_come() -> None:
    spans = [DataInterval(jan(1), jan(2)), DataInterval(jan(6), jan(7))]
    backfilled = replace(
        NEW,
        backfilled=[
            BackfilledInterval(interval.end, interval, partitions=True) for interval in spans
        ],
    )

    assert days(backfilled, RULES, 6) == [(2, 3), (3, 4), (4, 5), (5, 6), (7, 8), (8, 9)]


def test_of_continuous_runs_only_the_first_is_known() -> None:
    assert days(NEW, RULES, 6, ContinuousTimetable()) == [(1, 5)]
    delayed = Delayed(ContinuousTimetable(), "P1D")
    assert days(NEW, RULES, 6, delayed) == [(1, 4)]
