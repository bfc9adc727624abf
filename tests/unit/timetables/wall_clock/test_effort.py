"""No question to a timetable takes long, whatever its author has put together."""

from datetime import datetime, timedelta

import pytest

from headway.domain.interval import DataInterval
from headway.timetables.base import TimeRestriction
from headway.timetables.kinds.boolean import Days, Hours, Minutes, Months, Weekdays
from headway.timetables.kinds.combined import Union
from headway.timetables.kinds.cron import CronTimetable, DataTimetable, MultipleCronTimetable
from headway.timetables.kinds.days import Holidays, TradingDays, Workdays
from headway.timetables.kinds.paydays import LastWorkdayOnOrBefore
from headway.timetables.kinds.recurring import Recurring
from headway.timetables.kinds.solar import Sunset
from headway.timetables.wall_clock.boolean_pattern import BooleanPattern
from headway.timetables.wall_clock.effort import MOST_WORK, limited, spend
from headway.timetables.wall_clock.ticks import Ticks

at = datetime.fromisoformat
NOW = at("2026-11-23T05:00Z")
"""A Monday."""

NINE = CronTimetable("0 9 * * *")
TEN = CronTimetable("0 10 * * *")
RARE = Days(29) & Months(2) & Weekdays("MON") & Hours(9) & Minutes(0)
LEAP_DAYS = MultipleCronTimetable([f"{n} 9 29 2 *" for n in range(60)])
MANY = MultipleCronTimetable([f"{n % 60} 9 {n // 60 + 1} * *" for n in range(100)])


@pytest.mark.parametrize("catchup", [True, False])
@pytest.mark.parametrize(
    ("hopeless", "kind", "method", "work"),
    [
        (NINE & TEN, Ticks, "_ticks_at", 10),
        (MANY & TEN, Ticks, "_ticks_at", 10),
        (Union((MANY, NINE)) & TEN, Ticks, "_ticks_at", 10),
        (LEAP_DAYS & TEN, Ticks, "_ticks_at", 15),
        (NINE & Sunset(70.0, 0), Sunset, "_of", 30),
        (Sunset(89.7, 0) & NINE, Sunset, "_of", 30),
        (RARE & TEN, BooleanPattern, "_of", 1),
        (Union((RARE,) * 100), BooleanPattern, "_of", 1),
        (Workdays("US") & Holidays("US"), Holidays, "has", 20),
        (NINE & TradingDays("XNYS") & Weekdays("SUN"), TradingDays, "has", 100),
        (
            LastWorkdayOnOrBefore(31) & Weekdays("SUN"),
            LastWorkdayOnOrBefore,
            "_of_month",
            40,
        ),
    ],
    ids=lambda value: value.summary[:60] if isinstance(value, Recurring) else None,
)
def test_the_work_of_one_question_has_a_limit(
    hopeless: Recurring,
    kind: type,
    method: str,
    work: int,
    catchup: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each look is counted here, and at least so much work there."""
    looks = 0
    look = getattr(kind, method)

    def counted(*given):  # type: ignore[no-untyped-def]
        nonlocal looks
        looks += 1
        return look(*given)

    monkeypatch.setattr(kind, method, counted)
    earliest = NOW if catchup else None
    found = hopeless.next_dagrun_info(None, TimeRestriction(earliest, None, catchup), NOW)

    assert found is None
    assert looks > 100
    assert looks * work <= MOST_WORK * 1.1


def test_what_is_a_week_away_is_found() -> None:
    weekends = CronTimetable("* * * * *") - CronTimetable("* * * * MON-FRI")
    found = weekends.next_dagrun_info(None, TimeRestriction(NOW, None, catchup=True), NOW)

    assert found is not None
    assert found.run_after == at("2026-11-28T00:00Z")


def test_in_a_union_what_is_hopeless_does_not_stop_the_others() -> None:
    for union in ((NINE & TEN) | TEN, TEN | (NINE & TEN)):
        for catchup in (True, False):
            bounds = TimeRestriction(at("2026-11-22T00:00Z"), None, catchup)
            found = union.next_dagrun_info(None, bounds, NOW)

            assert found is not None
            assert found.run_after == at("2026-11-22T10:00Z")


class Hard(CronTimetable):
    """Takes most of the work of a question."""

    def first_from(self, earliest: datetime) -> DataInterval | None:
        spend(MOST_WORK * 8 // 10)
        return super().first_from(earliest)


def test_in_a_union_the_last_one_has_what_is_left_and_the_first_one_a_share() -> None:
    hard, bounds = Hard("0 9 * * *"), TimeRestriction(NOW, None, catchup=True)

    last = (TEN | hard).next_dagrun_info(None, bounds, NOW)
    first = (hard | TEN).next_dagrun_info(None, bounds, NOW)

    assert last is not None
    assert first is not None
    assert (last.run_after, first.run_after) == (at("2026-11-23T09:00Z"), at("2026-11-23T10:00Z"))


def test_blocks_share_a_limit_unless_they_have_shares_of_it() -> None:
    with limited() as outer, limited() as inner:
        assert inner is outer
    with limited() as outer:
        with limited(2) as half:
            half.left -= 10
        assert outer.left == MOST_WORK - 10
        assert half.left == MOST_WORK // 2 - 10


def test_of_windows_that_begin_each_minute_the_last_one_is_found_at_once() -> None:
    month = DataTimetable("* * * * *", interval=timedelta(days=30))

    with limited() as effort:
        last = month.last_over(NOW)

    assert last == DataInterval(NOW - timedelta(days=30), NOW)
    assert MOST_WORK - effort.left < 100
