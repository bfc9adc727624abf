"""What is said of runs to come; the dates are worked out by hand.

In New York 2026 clocks skip 02:00 to 03:00 on 8 March, and 01:00 to 02:00 comes twice on
1 November.  Samoa had no 30 December 2011.
"""

from datetime import datetime, timedelta
from itertools import islice

import pytest

from headway.domain.interval import DataInterval
from headway.timetables.base import TimeRestriction, Timetable
from headway.timetables.kinds.cron import CronTimetable, DataTimetable
from headway.timetables.kinds.delta import PeriodTimetable
from headway.timetables.kinds.events import EventsTimetable
from headway.timetables.kinds.simple import ContinuousTimetable, OnceTimetable
from headway.timetables.kinds.wrapped import Delayed
from headway.timetables.preview import coming
from headway.timetables.sequence import known, runs_on
from headway.timetables.wall_clock.zones import find_zone

at = datetime.fromisoformat
DAY = timedelta(days=1)
NEW_YORK = "America/New_York"
GAP = "gap: 2026-03-08 02:00 to 03:00 is skipped"
FOLD = "fold: 2026-11-01 01:00 to 02:00 comes twice"


def notes(
    timetable: Timetable,
    first: str,
    number: int,
    zone: str = NEW_YORK,
    last: DataInterval | None = None,
) -> list[tuple[str, ...]]:
    bounds = TimeRestriction(at(first), None, catchup=True)
    there = timetable.in_zone(zone)
    runs = runs_on(there, there.next_dagrun_info(last, bounds, at(first)), bounds, at(first))
    found = coming(known(there, runs), find_zone(zone), last)
    return [run.notes for run in islice(found, number)]


def test_a_gap_and_the_run_that_it_moves() -> None:
    daily = CronTimetable("30 2 * * *")

    assert notes(daily, "2026-03-07T00:00Z", 3) == [(), (GAP, "gap: runs when it ends"), ()]


@pytest.mark.parametrize(
    ("timetable", "moved"),
    [
        (CronTimetable("30 2 * * *"), "gap: runs when it ends"),
        (EventsTimetable(["2026-03-08T02:30"]), "gap: runs when it ends"),
        (Delayed(CronTimetable("30 2 * * *"), "PT2H"), "gap: its interval ends when it does"),
    ],
)
def test_the_first_run_is_told_of_like_any_other(timetable: Timetable, moved: str) -> None:
    """Whether the run before is shown or not."""
    assert notes(timetable, "2026-03-08T05:00Z", 1) == [(GAP, moved)]
    assert notes(timetable, "2026-03-07T05:00Z", 2)[-1] == (GAP, moved)


def test_a_change_is_told_of_once() -> None:
    """São Paulo's 20 October 2013 began at 01:00."""
    days = notes(DataTimetable("@daily"), "2013-10-19T03:00Z", 3, "America/Sao_Paulo")
    told = ("gap: 2013-10-20 00:00 to 01:00 is skipped", "gap: runs when it ends")

    assert days == [told, (), ()]


def test_a_gap_within_an_interval() -> None:
    assert notes(DataTimetable("@daily"), "2026-03-07T05:00Z", 3) == [(), (GAP,), ()]


def test_a_fold_and_the_runs_in_it() -> None:
    assert notes(CronTimetable("30 1 * * *"), "2026-11-01T04:00Z", 2) == [
        ("fold: the first of two",),
        (FOLD,),
    ]
    assert notes(CronTimetable("0 * * * *"), "2026-11-01T04:30Z", 3) == [
        ("fold: the first of two",),
        (FOLD, "fold: the second of two"),
        (),
    ]


def test_days_that_are_skipped() -> None:
    """2 January 2026 is a Friday."""
    weekend = ("skipped: 2026-01-03, 2026-01-04",)

    assert notes(DataTimetable("0 0 * * MON-FRI", DAY), "2026-01-02T00:00Z", 2, "UTC") == [
        (),
        weekend,
    ]
    assert notes(CronTimetable("0 9 * * MON-FRI"), "2026-01-02T00:00Z", 2, "UTC") == [(), weekend]
    assert notes(CronTimetable("0 0 1 * *"), "2026-01-01T00:00Z", 2, "UTC") == [
        (),
        ("skipped: 30 days",),
    ]


def test_no_day_is_skipped_that_an_interval_covers() -> None:
    assert notes(PeriodTimetable("P1M"), "2026-04-01T04:00Z", 3) == [(), (), ()]
    assert notes(DataTimetable("0 0 * * MON-FRI"), "2026-04-01T04:00Z", 5) == [()] * 5


def test_a_day_that_there_was_not() -> None:
    found = notes(CronTimetable("0 12 * * *"), "2011-12-29T22:00Z", 2, "Pacific/Apia")

    assert found[1][0] == "gap: 2011-12-30 00:00 to 2011-12-31 00:00 is skipped"


def test_after_the_last_run() -> None:
    """The run before was over Thursday, 1 January 2026."""
    last = DataInterval(at("2026-01-01T00:00Z"), at("2026-01-02T00:00Z"))
    saturdays = DataTimetable("0 0 * * SAT", DAY)

    assert notes(saturdays, "2025-01-01T00:00Z", 1, "UTC", last) == [("skipped: 2026-01-02",)]


@pytest.mark.parametrize("timetable", [OnceTimetable(), ContinuousTimetable()])
def test_there_is_one_run_of_which_the_time_is_known(timetable: Timetable) -> None:
    assert notes(timetable, "2026-01-01T00:00Z", 5) == [()]
