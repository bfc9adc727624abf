from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from headway.cli.screen.errors import message as told
from headway.decide.changes.backfill_dates import MOST_RUNS, plan_backfill, plan_dates
from headway.domain.dag.spec import DagSpec, TimetableSpec
from headway.domain.errors import DagError, RequestError
from headway.timetables import registry
from headway.timetables.base import Timetable
from headway.timetables.kinds.cron import CronTimetable, DataTimetable
from headway.timetables.kinds.delta import TimeDeltaTimetable
from headway.timetables.kinds.simple import ContinuousTimetable, NullTimetable
from headway.timetables.kinds.wrapped import Delayed
from headway.timetables.wall_clock.zones import first_at

ZONE = ZoneInfo("America/New_York")
BERLIN = "Europe/Berlin"
NOW = datetime(2014, 1, 1, tzinfo=UTC)
DAILY = DataTimetable("0 0 * * *", timezone="America/New_York")


def jan(day: int) -> datetime:
    return datetime(2013, 1, day, tzinfo=ZONE)


def dag(timetable: Timetable) -> DagSpec:
    return of_spec(registry.encode(timetable))


def of_spec(timetable: TimetableSpec) -> DagSpec:
    return DagSpec(
        dag_id="flights",
        relative_path="flights.py",
        timetable=timetable,
        timezone="America/New_York",
        tasks=(),
    )


def test_both_ends_of_the_range_belong_to_it() -> None:
    infos = plan_backfill(dag(DAILY), jan(1), jan(3), NOW)

    assert [info.data_interval.start for info in infos] == [jan(1), jan(2), jan(3)]
    assert [info.run_after for info in infos] == [jan(2), jan(3), jan(4)]


def test_the_last_day_belongs_to_it_with_all_its_hours() -> None:
    hourly = dag(DataTimetable("0 * * * *", timezone="America/New_York"))

    assert len(plan_backfill(hourly, jan(1), jan(2), NOW)) == 48
    assert plan_backfill(hourly, jan(1), jan(2), NOW) == plan_dates(hourly, [jan(1), jan(2)], NOW)
    until_one = jan(2) + timedelta(hours=1)
    assert len(plan_backfill(hourly, jan(1) + timedelta(hours=22), until_one, NOW)) == 4


def test_an_interval_that_began_before_the_range_does_not() -> None:
    (info,) = plan_backfill(dag(DAILY), jan(1) + timedelta(hours=1), jan(2), NOW)

    assert info.data_interval.start == jan(2)


def test_one_day_is_a_range() -> None:
    assert len(plan_backfill(dag(DAILY), jan(1), jan(1), NOW)) == 1


def test_the_range_may_end_with_the_last_complete_interval() -> None:
    assert len(plan_backfill(dag(DAILY), jan(1), jan(2), now=jan(3))) == 2


@pytest.mark.parametrize(
    ("timetable", "first", "last", "now", "message"),
    [
        (DAILY, 2, 1, NOW, "cannot end (2013-01-01) before it begins (2013-01-02)"),
        (
            DAILY,
            1,
            3,
            jan(3),
            "starts on 2013-01-03 05:00 is not over before 2013-01-04 05:00 UTC; end",
        ),
        (
            NullTimetable(),
            1,
            3,
            NOW,
            "DAG flights has no schedule, and so no intervals. `headway dags trigger flights",
        ),
        (
            DataTimetable("0 0 30 * *", timezone="UTC"),
            1,
            3,
            NOW,
            "`headway dags show flights` tells",
        ),
        (
            TimeDeltaTimetable(timedelta(minutes=1)),
            1,
            9,
            NOW,
            f"more than {MOST_RUNS:,} runs; backfill in smaller parts",
        ),
    ],
)
def test_what_is_no_backfill(
    timetable: Timetable, first: int, last: int, now: datetime, message: str
) -> None:
    with pytest.raises(RequestError) as refused:
        plan_backfill(dag(timetable), jan(first), jan(last), now)
    assert message in told(refused.value)


@pytest.mark.parametrize(
    "endless", [ContinuousTimetable(), Delayed(ContinuousTimetable(), timedelta(hours=1))]
)
def test_a_continuous_schedule_has_no_intervals_in_the_past(endless: Timetable) -> None:
    with pytest.raises(RequestError, match="flights is continuous") as refused:
        plan_backfill(dag(endless), jan(1), jan(2), NOW)
    assert "`headway dags trigger flights --interval A B` runs it" in told(refused.value)
    with pytest.raises(RequestError, match="flights is continuous"):
        plan_dates(dag(endless), [jan(1)], NOW)


def test_as_many_runs_as_are_allowed() -> None:
    minutes = TimeDeltaTimetable(timedelta(minutes=1))
    last = jan(1) + timedelta(minutes=MOST_RUNS - 1)

    assert len(plan_backfill(dag(minutes), jan(1), last, NOW)) == MOST_RUNS


def test_a_timetable_that_nobody_knows() -> None:
    with pytest.raises(DagError, match="The timetable 'lunar' is unknown here"):
        plan_backfill(of_spec(TimetableSpec(name="lunar")), jan(1), jan(2), NOW)


def test_days_by_their_dates_and_instants() -> None:
    twice = DataTimetable("0 0,12 * * *", timezone="America/New_York")
    noon = jan(5) + timedelta(hours=12)

    infos = plan_dates(dag(twice), [noon, jan(2), jan(2)], NOW)

    starts = [info.data_interval.start for info in infos]
    assert starts == [jan(2), jan(2) + timedelta(hours=12), noon]


@pytest.mark.parametrize(
    ("zone", "date", "hours"),
    [
        ("America/New_York", "2013-03-10", 23),
        ("America/New_York", "2013-11-03", 25),
        ("Africa/Cairo", "2025-10-30", 25),  # until 24:00, which is 23:00 first
        ("Asia/Beirut", "2025-10-25", 25),
        ("America/Asuncion", "2024-03-23", 25),
        ("America/Sao_Paulo", "2019-02-16", 25),
        ("America/Sao_Paulo", "2018-11-03", 24),
        ("America/Sao_Paulo", "2018-11-04", 23),  # from 1:00 on
        ("America/Havana", "2024-11-03", 25),  # from 0:00 on, which is twice
        ("America/Havana", "2024-11-02", 24),
    ],
)
def test_the_day_on_which_clocks_change_has_all_its_hours(zone: str, date: str, hours: int) -> None:
    hourly = replace(dag(DataTimetable("0 * * * *", timezone=zone)), timezone=zone)
    day = first_at(datetime.fromisoformat(date), ZoneInfo(zone))
    now = datetime(2026, 1, 1, tzinfo=UTC)

    infos = plan_dates(hourly, [day], now)

    assert len(infos) == hours
    assert infos == plan_backfill(hourly, day, day, now)


def test_dates_are_told_in_the_zone_of_their_dag() -> None:
    nine = replace(dag(CronTimetable("0 9 * * MON", timezone=BERLIN)), timezone=BERLIN)
    tuesday = datetime(2013, 1, 7, 23, tzinfo=UTC)

    with pytest.raises(RequestError, match="between 2013-01-08 and 2013-01-08"):
        plan_backfill(nine, tuesday, tuesday, NOW)
    with pytest.raises(RequestError, match="starts at 2013-01-08 00:00"):
        plan_dates(nine, [tuesday], NOW)
    with pytest.raises(
        RequestError, match=r"cannot end \(2013-01-08\) before it begins \(2013-01-10\)"
    ):
        plan_backfill(nine, tuesday + timedelta(days=2), tuesday, NOW)


def test_a_date_without_an_interval_is_told() -> None:
    with pytest.raises(RequestError, match="no data interval that starts at 2013-01-02 06:00"):
        plan_dates(dag(DAILY), [jan(1), jan(2) + timedelta(hours=6)], NOW)


def test_no_more_dates_than_are_allowed() -> None:
    seconds = TimeDeltaTimetable(timedelta(seconds=17))

    with pytest.raises(RequestError, match="in smaller parts"):
        plan_dates(dag(seconds), [jan(1), jan(2)], NOW)


def test_periods_are_counted_from_the_start_date_as_the_schedule_counts_them() -> None:
    weekly = replace(dag(TimeDeltaTimetable(timedelta(days=7))), start_date=jan(1))

    found = plan_backfill(weekly, jan(5), jan(20), NOW)

    assert [info.data_interval.start for info in found] == [jan(8), jan(15)]


def test_before_the_start_date_they_are_counted_from_where_the_backfill_begins() -> None:
    weekly = replace(dag(TimeDeltaTimetable(timedelta(days=7))), start_date=jan(10))

    found = plan_backfill(weekly, jan(2), jan(20), NOW)

    assert [info.data_interval.start for info in found] == [jan(2), jan(9), jan(16)]
