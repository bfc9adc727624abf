"""What people want of a schedule, each with dates that were worked out by hand.

January 2026 begins on a Thursday.  New York is five hours behind UTC in winter, four in
summer; its clocks go forward on 8 March 2026 and back on 1 November 2026.
"""

from datetime import UTC, date, datetime, timedelta
from itertools import islice

import pytest

from headway.domain.errors import TimetableError
from headway.domain.interval import DataInterval
from headway.timetables.base import TimeRestriction, Timetable
from headway.timetables.kinds.boolean import Days, Hours, Minutes, Months, Weekdays
from headway.timetables.kinds.cron import CronTimetable, DataTimetable, MultipleCronTimetable
from headway.timetables.kinds.days import Holidays, TradingDays, Workdays
from headway.timetables.kinds.delta import PeriodTimetable, TimeDeltaTimetable
from headway.timetables.kinds.events import EventsTimetable
from headway.timetables.kinds.paydays import LastWorkdayOnOrBefore
from headway.timetables.kinds.recurring import Recurring, Stretch
from headway.timetables.kinds.simple import ContinuousTimetable, OnceTimetable
from headway.timetables.kinds.wrapped import Delayed, RollingWindow
from headway.timetables.registry import encode
from headway.timetables.schedule import timetable_for
from headway.timetables.sequence import runs_between

at = datetime.fromisoformat
DAY = timedelta(days=1)
NEW_YORK = "America/New_York"
FAR = at("2100-01-01T00:00Z")


def runs(timetable: Timetable, first: str, last: str) -> list[str]:
    """Return when it runs for the intervals that start in `[first, last]`, in UTC."""
    infos = runs_between(timetable, at(first), at(first), at(last))
    return [f"{info.run_after:%m-%d %H:%M}" for info in infos]


def intervals(timetable: Timetable, first: str, last: str) -> list[str]:
    """Return the intervals that start in `[first, last]`, in UTC."""
    infos = runs_between(timetable, at(first), at(first), at(last))
    return [
        f"{info.data_interval.start:%m-%d %H:%M} {info.data_interval.end:%m-%d %H:%M}"
        for info in infos
    ]


def test_on_weekdays_friday_is_processed_on_saturday() -> None:
    weekdays = DataTimetable("0 0 * * MON-FRI", interval=DAY)

    assert intervals(weekdays, "2026-01-01T00:00Z", "2026-01-06T00:00Z") == [
        "01-01 00:00 01-02 00:00",
        "01-02 00:00 01-03 00:00",
        "01-05 00:00 01-06 00:00",
        "01-06 00:00 01-07 00:00",
    ]


def test_without_an_interval_friday_lasts_until_monday() -> None:
    weekdays = DataTimetable("0 0 * * MON-FRI")

    assert intervals(weekdays, "2026-01-01T00:00Z", "2026-01-05T00:00Z") == [
        "01-01 00:00 01-02 00:00",
        "01-02 00:00 01-05 00:00",
        "01-05 00:00 01-06 00:00",
    ]


def test_an_interval_of_a_calendar_month() -> None:
    monthly = DataTimetable("0 0 1 * *", interval="P1M", timezone=NEW_YORK)

    assert intervals(monthly, "2026-02-01T00:00Z", "2026-03-02T00:00Z") == [
        "02-01 05:00 03-01 05:00",
        "03-01 05:00 04-01 04:00",
    ]


def test_at_the_exact_time() -> None:
    assert intervals(
        CronTimetable("30 9 * * *", NEW_YORK), "2026-03-07T00:00Z", "2026-03-09T23:00Z"
    ) == ["03-07 14:30 03-07 14:30", "03-08 13:30 03-08 13:30", "03-09 13:30 03-09 13:30"]


def test_payday_is_the_15th_or_the_last_working_day_before() -> None:
    """15 February and 15 March 2026 are Sundays, 15 August is a Saturday."""
    assert runs(LastWorkdayOnOrBefore(15), "2026-01-01T00:00Z", "2026-09-01T00:00Z") == [
        "01-15 00:00",
        "02-13 00:00",
        "03-13 00:00",
        "04-15 00:00",
        "05-15 00:00",
        "06-15 00:00",
        "07-15 00:00",
        "08-14 00:00",
    ]


def test_payday_before_a_holiday_and_at_the_end_of_the_month() -> None:
    """In Germany 3 April 2026 is Good Friday, and 1 May a holiday before a weekend.

    31 January and 28 February are Saturdays.
    """
    assert runs(
        LastWorkdayOnOrBefore(3, "DE", "Europe/Berlin"), "2026-04-01T00:00Z", "2026-04-30T00:00Z"
    ) == ["04-01 22:00", "04-29 22:00"]
    assert runs(LastWorkdayOnOrBefore(31), "2026-01-16T00:00Z", "2026-03-31T00:00Z") == [
        "01-30 00:00",
        "02-27 00:00",
        "03-31 00:00",
    ]


def test_payday_on_the_first_may_fall_into_the_month_before() -> None:
    """1 February and 1 March 2026 are Sundays: Friday 30 January, Friday 27 February."""
    first = LastWorkdayOnOrBefore(1)

    assert runs(first, "2026-01-01T00:00Z", "2026-04-02T00:00Z") == [
        "01-01 00:00",
        "01-30 00:00",
        "02-27 00:00",
        "04-01 00:00",
    ]
    assert [first.tick_before(at(day)) for day in ("2026-01-31T00:00Z", "2026-01-30T00:00Z")] == [
        at("2026-01-30T00:00Z"),
        at("2026-01-01T00:00Z"),
    ]
    nine = CronTimetable("0 9 * * *") & first
    assert runs(nine, "2026-01-02T00:00Z", "2026-02-28T00:00Z") == ["01-30 09:00", "02-27 09:00"]


def test_trading_days_of_new_york() -> None:
    """Closed on New Year's Day, on Good Friday (3 April 2026) and on 3 July, not on 2 January."""
    exchange = TradingDays("XNYS", NEW_YORK)

    assert intervals(exchange, "2025-12-31T00:00Z", "2026-01-05T12:00Z") == [
        "12-31 05:00 01-01 05:00",
        "01-02 05:00 01-03 05:00",
        "01-05 05:00 01-06 05:00",
    ]
    assert runs(exchange, "2026-04-01T12:00Z", "2026-04-06T12:00Z") == [
        "04-03 04:00",
        "04-07 04:00",
    ]
    assert runs(exchange, "2026-07-02T00:00Z", "2026-07-06T12:00Z") == [
        "07-03 04:00",
        "07-07 04:00",
    ]


def test_workdays_and_holidays_of_a_country() -> None:
    """Independence Day 2026 is a Saturday: in the United States Friday, 3 July, is off."""
    first, last = "2026-07-01T00:00Z", "2026-07-06T00:00Z"

    assert runs(Workdays("US"), first, last) == ["07-02 00:00", "07-03 00:00", "07-07 00:00"]
    assert len(runs(Workdays(), first, last)) == 4
    assert runs(Holidays("US"), first, last) == ["07-04 00:00", "07-05 00:00"]


def test_epiphany_is_a_holiday_in_bavaria_and_not_in_berlin() -> None:
    first, last = "2026-01-05T00:00Z", "2026-01-07T00:00Z"

    assert runs(Workdays("DE-BY"), first, last) == ["01-06 00:00", "01-08 00:00"]
    assert runs(Workdays("DE-BE"), first, last) == ["01-06 00:00", "01-07 00:00", "01-08 00:00"]


LINEAGE = Hours(3, 9, 18) & Minutes(2, 30, 19) | Hours(17) & Minutes(0, 15, 45)


def test_boolean_time() -> None:
    early = ["03:02", "03:19", "03:30", "09:02", "09:19", "09:30"]
    times = [*early, "17:00", "17:15", "17:45", "18:02", "18:19", "18:30"]

    assert runs(LINEAGE, "2026-01-01T00:00Z", "2026-01-02T23:59Z") == [
        *(f"01-01 {time}" for time in times),
        *(f"01-02 {time}" for time in times),
    ]


def test_boolean_time_on_some_days_only() -> None:
    """2026: Fridays the 13th are in February, March and November."""
    nine = Hours(9) & Minutes(0)

    assert runs(nine & Days(13) & Weekdays("FRI"), "2026-01-01T00:00Z", "2026-12-31T00:00Z") == [
        "02-13 09:00",
        "03-13 09:00",
        "11-13 09:00",
    ]
    assert runs(nine & Weekdays("MON-FRI"), "2026-01-01T00:00Z", "2026-01-05T23:00Z") == [
        "01-01 09:00",
        "01-02 09:00",
        "01-05 09:00",
    ]
    assert runs(nine & Days("L") & Months("FEB", 4), "2026-01-01T00:00Z", "2026-12-31T00:00Z") == [
        "02-28 09:00",
        "04-30 09:00",
    ]
    assert runs(nine & ~Weekdays("MON-FRI"), "2026-01-01T00:00Z", "2026-01-11T00:00Z") == [
        "01-03 09:00",
        "01-04 09:00",
        "01-10 09:00",
    ]


def test_boolean_time_where_the_clocks_are_changed() -> None:
    """8 March 2026: 02:00 becomes 03:00 (07:00Z); 1 November: 02:00 becomes 01:00 (06:00Z)."""
    fixed = (Hours(1, 2) & Minutes(30)).in_zone(NEW_YORK)

    assert runs(fixed, "2026-03-08T05:00Z", "2026-03-09T05:00Z") == ["03-08 06:30", "03-08 07:00"]
    assert runs(fixed, "2026-11-01T04:00Z", "2026-11-02T04:00Z") == ["11-01 05:30", "11-01 07:30"]
    hourly = Minutes(30).in_zone(NEW_YORK)
    assert runs(hourly, "2026-11-01T05:00Z", "2026-11-01T07:00Z") == ["11-01 05:30", "11-01 06:30"]


@pytest.mark.parametrize("never", [Days(31) & Months(2), Hours(3) & ~Hours(3)])
def test_a_boolean_expression_that_never_holds_is_refused(never: Recurring) -> None:
    with pytest.raises(TimetableError, match="holds for no minute at all"):
        encode(never)


def test_the_29th_of_february_on_a_sunday_is_found() -> None:
    rare = Days(29) & Months(2) & Weekdays("SUN") & Hours(0) & Minutes(0)

    assert [f"{tick:%F}" for tick in _ticks(rare, "2026-01-01T00:00Z", 2)] == [
        "2032-02-29",
        "2060-02-29",
    ]


def _ticks(timetable: Recurring, first: str, number: int) -> list[datetime]:
    infos = runs_between(timetable, at(first), at(first), FAR)
    return [info.run_after for info in islice(infos, number)]


def test_the_data_comes_two_hours_late() -> None:
    delayed = Delayed(DataTimetable("@daily"), timedelta(hours=2))

    assert intervals(delayed, "2026-01-01T00:00Z", "2026-01-02T00:00Z") == [
        "01-01 00:00 01-02 00:00",
        "01-02 00:00 01-03 00:00",
    ]
    assert runs(delayed, "2026-01-01T00:00Z", "2026-01-02T00:00Z") == ["01-02 02:00", "01-03 02:00"]


def test_a_delayed_timetable_does_not_skip_to_what_may_not_run_yet() -> None:
    delayed, latest = (
        Delayed(DataTimetable("@daily"), timedelta(hours=2)),
        TimeRestriction(at("2026-01-01T00:00Z"), None, catchup=False),
    )
    found = [
        delayed.next_dagrun_info(None, latest, at(now))
        for now in ("2026-01-10T01:59Z", "2026-01-10T02:00Z")
    ]

    assert [f"{info.data_interval.start:%d}" for info in found if info] == ["08", "09"]
    assert delayed.infer_manual_data_interval(at("2026-01-10T01:00Z")) == DataInterval(
        at("2026-01-08T00:00Z"), at("2026-01-09T00:00Z")
    )


def test_a_daily_run_over_the_last_seven_days() -> None:
    """Seven calendar days, of which one has 23 hours."""
    rolling = RollingWindow(DataTimetable("@daily"), 7 * DAY).in_zone(NEW_YORK)

    assert intervals(rolling, "2026-03-01T05:00Z", "2026-03-03T05:00Z") == [
        "03-01 05:00 03-08 05:00",
        "03-02 05:00 03-09 04:00",
        "03-03 05:00 03-10 04:00",
    ]


def test_no_window_is_lost_where_clocks_are_changed() -> None:
    """On 1 November 01:00 comes twice, and had come once on the day before: a day is 24 hours."""
    hourly = RollingWindow(DataTimetable("@hourly"), DAY).in_zone(NEW_YORK)
    day_long = DataTimetable("0 * * * *", interval=DAY, timezone=NEW_YORK)

    assert intervals(hourly, "2026-10-31T04:00Z", "2026-10-31T07:00Z") == [
        "10-31 04:00 11-01 04:00",
        "10-31 05:00 11-01 05:00",
        "10-31 06:00 11-01 06:00",
        "10-31 07:00 11-01 07:00",
    ]
    assert intervals(day_long, "2026-03-07T06:00Z", "2026-03-07T08:00Z") == [
        "03-07 06:00 03-08 06:00",
        "03-07 07:00 03-08 07:00",
        "03-07 08:00 03-08 08:00",
    ]


def test_a_rolling_window_begins_with_the_first_that_is_full() -> None:
    rolling = RollingWindow(DataTimetable("@daily"), "P7D")

    assert intervals(rolling, "2026-01-01T12:00Z", "2026-01-03T00:00Z") == [
        "01-02 00:00 01-09 00:00",
        "01-03 00:00 01-10 00:00",
    ]
    counted = RollingWindow(TimeDeltaTimetable(timedelta(hours=12)), "P2D")
    assert intervals(counted, "2026-01-01T05:00Z", "2026-01-02T00:00Z") == [
        "01-01 05:00 01-03 05:00",
        "01-01 17:00 01-03 17:00",
    ]


def test_a_rolling_window_may_be_delayed_and_skip_what_was_missed() -> None:
    late = Delayed(RollingWindow(DataTimetable("@daily"), "P7D"), "PT2H")
    info = late.next_dagrun_info(
        None, TimeRestriction(None, None, catchup=False), at("2026-02-01T03:00Z")
    )

    assert info is not None
    assert info.run_after == at("2026-02-01T02:00Z")
    assert info.data_interval == DataInterval(at("2026-01-25T00:00Z"), at("2026-02-01T00:00Z"))


def test_listed_dates() -> None:
    events = EventsTimetable(["2026-06-01T09:00", at("2026-02-01T00:00Z"), "2026-02-01"], NEW_YORK)

    assert runs(events, "2026-01-01T00:00Z", "2026-12-31T00:00Z") == [
        "02-01 00:00",
        "02-01 05:00",
        "06-01 13:00",
    ]
    over = TimeRestriction(at("2026-01-01T00:00Z"), None, catchup=False)
    after = events.next_dagrun_info(DataInterval.exact(at("2026-06-01T13:00Z")), over, FAR)
    assert after is None
    latest = events.next_dagrun_info(None, over, at("2026-03-01T00:00Z"))
    assert latest is not None
    assert latest.run_after == at("2026-02-01T05:00Z")


def test_a_listed_day_is_its_midnight() -> None:
    events = EventsTimetable([date(2026, 2, 1), "2026-02-02"])

    assert events == EventsTimetable(["2026-02-01", "2026-02-02"])
    assert runs(events.in_zone(NEW_YORK), "2026-01-01T00:00Z", "2026-12-31T00:00Z") == [
        "02-01 05:00",
        "02-02 05:00",
    ]


@pytest.mark.parametrize("timetable", [DataTimetable("@daily"), PeriodTimetable("P1D")])
@pytest.mark.parametrize("zone", ["UTC", NEW_YORK])
def test_a_start_date_at_the_beginning_of_the_calendar(timetable: Timetable, zone: str) -> None:
    """The latest run that is over is the one of 31 December, and the first is of the year 2."""
    first = datetime.min.replace(tzinfo=UTC)
    there = timetable.in_zone(zone)
    latest = there.next_dagrun_info(
        None, TimeRestriction(first, None, catchup=False), at("2026-01-01T12:00Z")
    )
    oldest = there.next_dagrun_info(
        None, TimeRestriction(first, None, catchup=True), at("2026-01-01T12:00Z")
    )

    assert latest is not None
    assert latest.data_interval.start.date() in (date(2025, 12, 30), date(2025, 12, 31))
    assert oldest is not None
    assert oldest.data_interval.start.year == 2


def test_several_cron_strings() -> None:
    both = MultipleCronTimetable(["0 9 * * *", "0 9,17 * * FRI"])

    assert runs(both, "2026-01-01T00:00Z", "2026-01-03T00:00Z") == [
        "01-01 09:00",
        "01-02 09:00",
        "01-02 17:00",
    ]


def test_quarters_begin_in_january_april_july_and_october() -> None:
    assert intervals(
        timetable_for("@quarterly", "UTC"), "2026-01-01T00:00Z", "2026-11-01T00:00Z"
    ) == [
        "01-01 00:00 04-01 00:00",
        "04-01 00:00 07-01 00:00",
        "07-01 00:00 10-01 00:00",
        "10-01 00:00 01-01 00:00",
    ]


def test_months_are_counted_from_the_start_date() -> None:
    monthly = PeriodTimetable("P1M")

    assert intervals(monthly, "2026-01-31T00:00Z", "2026-04-30T00:00Z") == [
        "01-31 00:00 02-28 00:00",
        "02-28 00:00 03-31 00:00",
        "03-31 00:00 04-30 00:00",
        "04-30 00:00 05-31 00:00",
    ]


def test_a_period_of_days_keeps_to_the_clocks() -> None:
    daily = PeriodTimetable("P1D", NEW_YORK)

    assert intervals(daily, "2026-03-07T11:00Z", "2026-03-09T11:00Z") == [
        "03-07 11:00 03-08 10:00",
        "03-08 10:00 03-09 10:00",
        "03-09 10:00 03-10 10:00",
    ]


def test_a_period_skips_what_was_missed_and_leads_over_from_another_schedule() -> None:
    monthly = PeriodTimetable("P1M")
    found = monthly.next_dagrun_info(
        None,
        TimeRestriction(at("2025-01-31T00:00Z"), None, catchup=False),
        at("2026-03-30T00:00Z"),
    )
    assert found is not None
    assert found.data_interval == DataInterval(at("2026-01-31T00:00Z"), at("2026-02-28T00:00Z"))

    last = DataInterval(at("2026-02-10T00:00Z"), at("2026-02-11T00:00Z"))
    found = monthly.next_dagrun_info(
        last, TimeRestriction(at("2025-01-31T00:00Z"), None, catchup=True), FAR
    )
    assert found is not None
    assert found.data_interval == DataInterval(at("2026-02-11T00:00Z"), at("2026-02-28T00:00Z"))
    assert monthly.infer_manual_data_interval(at("2026-03-31T00:00Z")) == DataInterval(
        at("2026-02-28T00:00Z"), at("2026-03-31T00:00Z")
    )


NINE = CronTimetable("0 9 * * *")
SEVENTEEN = CronTimetable("0 17 * * *")


def test_union_of_times() -> None:
    assert runs(NINE | SEVENTEEN | NINE, "2026-01-01T00:00Z", "2026-01-02T12:00Z") == [
        "01-01 09:00",
        "01-01 17:00",
        "01-02 09:00",
    ]


def test_union_of_days() -> None:
    """Working days, and holidays too: the weekends remain."""
    assert runs(Workdays("US") | Holidays("US"), "2026-07-01T00:00Z", "2026-07-06T00:00Z") == [
        "07-02 00:00",
        "07-03 00:00",
        "07-04 00:00",
        "07-05 00:00",
        "07-07 00:00",
    ]


def test_a_time_of_day_on_the_days_of_a_calendar() -> None:
    first, last = "2026-07-01T00:00Z", "2026-07-06T23:00Z"
    expected = ["07-01 09:00", "07-02 09:00", "07-06 09:00"]

    assert runs(NINE & Workdays("US"), first, last) == expected
    assert runs(Workdays("US") & NINE, first, last) == expected
    assert runs(Hours(9) & Minutes(0) & Workdays("US"), first, last) == expected
    assert runs(NINE & Workdays() - Holidays("US"), first, last) == expected


def test_days_that_two_calendars_have() -> None:
    """On Columbus Day, 12 October 2026, the exchange is open and the country is not."""
    both = Workdays("US") & TradingDays("XNYS")
    first, last = "2026-10-09T00:00Z", "2026-10-13T00:00Z"

    assert intervals(both, first, last) == ["10-09 00:00 10-10 00:00", "10-13 00:00 10-14 00:00"]
    assert runs(TradingDays("XNYS") - Workdays("US"), first, last) == ["10-13 00:00"]


def test_exclusion_of_times() -> None:
    hourly = CronTimetable("0 * * * *")

    assert runs(
        hourly - CronTimetable("0 1-22 * * *"), "2026-01-01T00:00Z", "2026-01-02T00:00Z"
    ) == [
        "01-01 00:00",
        "01-01 23:00",
        "01-02 00:00",
    ]
    every_day = DataTimetable("@daily") - EventsTimetable(["2026-01-02"])
    assert intervals(every_day, "2026-01-01T00:00Z", "2026-01-03T00:00Z") == [
        "01-01 00:00 01-02 00:00",
        "01-03 00:00 01-04 00:00",
    ]


def test_a_combined_timetable_skips_what_was_missed() -> None:
    """Now is Monday, 6 July 2026, before nine; the last working day is Thursday."""
    workdays = CronTimetable("0 9 * * *") & Workdays("US")
    found = workdays.next_dagrun_info(
        None, TimeRestriction(None, None, catchup=False), at("2026-07-06T08:00Z")
    )

    assert found is not None
    assert found.run_after == at("2026-07-02T09:00Z")


def test_a_search_within_a_search_ends_as_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inner one finds a run after many steps, each of which the outer one refuses."""
    steps = 0
    stretch = CronTimetable.stretch

    def counted(self: CronTimetable, *given: datetime) -> Stretch:
        nonlocal steps
        steps += 1
        return stretch(self, *given)

    monkeypatch.setattr(CronTimetable, "stretch", counted)
    minutely, noon = CronTimetable("* * * * *"), CronTimetable("0 12 1 * *")
    rare = minutely - CronTimetable("* * 2-31 * *") - CronTimetable("1-59 * 1 * *")
    nothing = (rare - CronTimetable("0 * * * *")) | (rare - minutely) | (minutely - minutely - noon)

    assert (
        nothing.next_dagrun_info(None, TimeRestriction(at("2026-01-01T00:00Z"), None, True), FAR)
        is None
    )
    assert 1000 < steps <= 40_000


def test_what_has_nothing_in_common_has_no_next_run() -> None:
    hourly = CronTimetable("0 * * * *")

    for nothing in (hourly - hourly, NINE & SEVENTEEN, NINE & EventsTimetable(["2020-01-01"])):
        assert runs(nothing, "2026-01-01T00:00Z", "2027-01-01T00:00Z") == []
        assert nothing.last_over(at("2026-01-01T00:00Z")) is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: NINE | DataTimetable("@daily"), "where all their intervals have one length"),
        (lambda: DataTimetable("@daily") | DataTimetable("@daily"), "have one length"),
        (lambda: NINE & OnceTimetable(), "can be combined, such as CronTimetable"),
        (lambda: NINE - ContinuousTimetable(), "can be combined"),
        (lambda: NINE & TimeDeltaTimetable(DAY), "counted from the DAG's start date"),
        (lambda: NINE & RollingWindow(NINE, DAY), "go around the whole"),
        (lambda: NINE & 5, "can be combined"),
        (lambda: RollingWindow(OnceTimetable(), DAY), "RollingWindow takes a timetable"),  # type: ignore[arg-type]
        (lambda: RollingWindow(NINE, "P1M"), "months differ in length"),
        (lambda: RollingWindow(NINE & Workdays(), "P1M"), "months differ in length"),
        (lambda: DataTimetable("0 0 1,15 * *", "P1M"), "months differ in length"),
        (lambda: DataTimetable("0 0 1 * MON", "P1M"), "months differ in length"),
        (lambda: DataTimetable("0 0,12 1 * *", "P1M"), "months differ in length"),
        (lambda: Delayed(Delayed(NINE, DAY), DAY), "that is not delayed yet"),
        (lambda: Delayed(NINE, "P1M"), "cannot be delayed by months"),
        (lambda: Delayed(NINE, timedelta(0)), "must be longer than zero"),
        (lambda: EventsTimetable([]), "1 to 10,000 dates"),
        (lambda: EventsTimetable([datetime(2026, 1, 1)]), "has no time zone"),  # noqa: DTZ001
        (lambda: EventsTimetable(["soon"]), "'soon' is no date"),
        (lambda: MultipleCronTimetable("0 0 * * *"), "takes a list of cron strings"),
        (lambda: MultipleCronTimetable(["0 0 * *"]), "is no cron string"),
        (lambda: LastWorkdayOnOrBefore(32), "from 1 to 31"),
        (lambda: Workdays("Atlantis").check(), "is no country with known holidays"),
        (lambda: Workdays("utils").check(), "two or three capital letters"),
        (lambda: Workdays("US-ZZ").check(), "is no country with known holidays"),
        (lambda: TradingDays("NOWHERE").check(), "is no exchange"),
        (Hours, "takes at least one value"),
        ((NINE & Workdays("Atlantis")).check, "is no country with known holidays"),
        (lambda: Workdays(""), "A calendar is a code such as"),
        (lambda: Holidays(None), "A calendar is a code such as"),  # type: ignore[arg-type]
        (lambda: Hours(24), r"Hours\(24\): the hour field cannot be '24'"),
        (lambda: Hours(3.5), "takes numbers and text"),  # type: ignore[arg-type]
        (lambda: PeriodTimetable("P0D"), "must be longer than zero"),
        (lambda: PeriodTimetable("PT0.999999S"), "must be a second at least"),
        (lambda: TimeDeltaTimetable(timedelta(microseconds=1)), "must be a second at least"),
        (lambda: timetable_for("PT0.000001S", "UTC"), "must be a second at least"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: object, message: str) -> None:
    assert callable(wrong)
    with pytest.raises(TimetableError, match=message):
        wrong()


@pytest.mark.parametrize(
    ("timetable", "zone", "first", "expected"),
    [
        (
            DataTimetable("@daily"),
            "America/Havana",
            "2026-03-05T05:00Z",
            ["03-05 05:00 03-07 05:00", "03-06 05:00 03-08 05:00", "03-07 05:00 03-09 04:00"],
        ),
        (
            Workdays(),
            "Africa/Cairo",
            "2026-04-20T22:00Z",
            ["04-20 22:00 04-22 22:00", "04-21 22:00 04-23 22:00", "04-22 22:00 04-24 21:00"],
        ),
        (
            CronTimetable("30 2 * * *"),
            NEW_YORK,
            "2026-03-05T07:30Z",
            ["03-05 07:30 03-07 07:30", "03-06 07:30 03-08 07:00", "03-07 07:30 03-09 06:30"],
        ),
        (
            PeriodTimetable("P1D"),
            "America/Havana",
            "2026-03-05T05:00Z",
            ["03-05 05:00 03-07 05:00", "03-06 05:00 03-08 05:00", "03-07 05:00 03-09 04:00"],
        ),
    ],
)
def test_a_window_that_a_gap_ends_has_all_of_its_days(
    timetable: Recurring, zone: str, first: str, expected: list[str]
) -> None:
    rolling = RollingWindow(timetable, "P2D").in_zone(zone)

    assert intervals(rolling, first, "2026-05-01T00:00Z")[:3] == expected


@pytest.mark.parametrize(
    "timetable",
    [
        CronTimetable("0 9,10 * * *") & (Hours(9) & Minutes(0)),
        CronTimetable("0 8,9,10 * * *") - (~(Hours(9) & Minutes(0))),
        CronTimetable("0 9,10 * * *") - (Hours(10) & Minutes(0)),
    ],
    ids=lambda timetable: timetable.summary,
)
def test_the_way_back_passes_no_minute_over(timetable: Recurring) -> None:
    """What lies right before the minutes that are skipped is looked at, too."""
    nine = DataInterval.exact(at("2026-01-05T09:00Z"))

    assert timetable.last_over(at("2026-01-05T11:00Z")) == nine


TWO_THIRTY = CronTimetable("30 2 * * *")


@pytest.mark.parametrize(
    ("timetable", "zone", "expected"),
    [
        (TWO_THIRTY & Hours(2), NEW_YORK, ["03-07 07:30", "03-08 07:00", "03-09 06:30"]),
        (TWO_THIRTY & Hours(3), NEW_YORK, []),
        (TWO_THIRTY - Hours(2), NEW_YORK, []),
        (TWO_THIRTY - Hours(3), NEW_YORK, ["03-07 07:30", "03-08 07:00", "03-09 06:30"]),
        (
            (TWO_THIRTY & Hours(2)) - Hours(3),
            NEW_YORK,
            ["03-07 07:30", "03-08 07:00", "03-09 06:30"],
        ),
        (
            (TWO_THIRTY | TWO_THIRTY) & Hours(2),
            NEW_YORK,
            ["03-07 07:30", "03-08 07:00", "03-09 06:30"],
        ),
        (
            (TWO_THIRTY | CronTimetable("30 3 * * *")) & Hours(3),
            NEW_YORK,
            ["03-07 08:30", "03-08 07:30", "03-09 07:30"],
        ),
        (
            MultipleCronTimetable(["30 2 * * *", "30 5 * * *"]) & (Hours(2) | Hours(4)),
            NEW_YORK,
            ["03-07 07:30", "03-08 07:00", "03-09 06:30"],
        ),
        (
            DataTimetable("30 2 * * *") & Hours(2),
            NEW_YORK,
            ["03-08 07:00", "03-09 06:30", "03-10 06:30"],
        ),
        (
            Hours(2) & DataTimetable("30 2 * * *"),
            NEW_YORK,
            ["03-08 07:00", "03-09 06:30", "03-10 06:30"],
        ),
        (
            CronTimetable("0,30 2,3 * * *") & Hours(2) & Minutes(30),
            NEW_YORK,
            ["03-07 07:30", "03-08 07:00", "03-09 06:30"],
        ),
        (
            CronTimetable("0,30 2,3 * * *") - Hours(2) - Minutes(30),
            NEW_YORK,
            ["03-07 08:00", "03-08 07:00", "03-09 07:00"],
        ),
        (CronTimetable("30 23 * * *") & Weekdays("SAT"), "America/Nuuk", ["03-29 01:00"]),
        (CronTimetable("30 23 * * *") & Workdays(), "America/Nuuk", ["03-28 01:30", "03-31 00:30"]),
        (
            CronTimetable("30,45 1,2 * * *") & Minutes(30),
            NEW_YORK,
            ["03-07 07:30", "03-08 06:30", "03-08 07:00", "03-09 05:30", "03-09 06:30"],
        ),
        (CronTimetable("30 2 * * *", "UTC") & Hours(2), "Europe/Berlin", []),
    ],
    ids=str,
)
def test_what_a_gap_has_moved_is_selected_by_the_time_that_was_meant(
    timetable: Recurring, zone: str, expected: list[str]
) -> None:
    first, last = "2026-03-07T07:00Z", "2026-03-09T12:00Z"
    if zone == "America/Nuuk":
        first, last = "2026-03-28T00:00Z", "2026-03-31T12:00Z"
    placed = timetable.in_zone(zone)

    assert runs(placed, first, last) == expected
    back, newest = [], placed.last_starting(at(last))
    while newest is not None and newest.start >= at(first):
        back.append(f"{newest.end:%m-%d %H:%M}")
        newest = placed.last_starting(newest.start)
    assert back == expected[::-1]
