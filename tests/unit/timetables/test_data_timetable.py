from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from headway.domain.errors import TimetableError
from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo, TimeRestriction
from headway.timetables.kinds.cron import DataTimetable
from headway.timetables.sequence import runs_between

at = datetime.fromisoformat
DAY = timedelta(days=1)
NEW_YORK = "America/New_York"
DAILY = DataTimetable("0 0 * * *", timezone="UTC")
WEEKDAYS = DataTimetable("0 0 * * MON-FRI", timezone="UTC", interval=DAY)
LONG_AGO = at("2000-01-01T00:00Z")


def span(start: str, end: str) -> DataInterval:
    return DataInterval(at(start), at(end))


def bounds(
    earliest: str | None = None, latest: str | None = None, *, catchup: bool = True
) -> TimeRestriction:
    return TimeRestriction(
        at(earliest) if earliest else None, at(latest) if latest else None, catchup
    )


def next_interval(
    timetable: DataTimetable,
    last: DataInterval | None,
    restriction: TimeRestriction,
    now: str = "2013-06-01T00:00Z",
) -> DataInterval | None:
    info = timetable.next_dagrun_info(last, restriction, at(now))
    if info is None:
        return None
    assert info.run_after == info.data_interval.end
    return info.data_interval


def between(timetable: DataTimetable, earliest: str, latest: str) -> list[tuple[str, str]]:
    infos = runs_between(timetable, at(earliest), at(earliest), at(latest))
    return [
        (f"{info.data_interval.start:%a %m-%d %H:%M}", f"{info.run_after:%a %m-%d %H:%M}")
        for info in infos
    ]


def test_a_daily_run_starts_once_its_day_is_over() -> None:
    info = DAILY.next_dagrun_info(None, bounds("2013-01-01T00:00Z"), LONG_AGO)

    assert info == DagRunInfo(
        run_after=at("2013-01-02T00:00Z"),
        data_interval=span("2013-01-01T00:00Z", "2013-01-02T00:00Z"),
    )


def test_intervals_follow_each_other() -> None:
    last = span("2013-01-01T00:00Z", "2013-01-02T00:00Z")

    assert next_interval(DAILY, last, bounds()) == span("2013-01-02T00:00Z", "2013-01-03T00:00Z")


def test_hours() -> None:
    assert between(
        DataTimetable("@hourly", timezone="UTC"), "2013-01-01T22:30Z", "2013-01-02T00:00Z"
    ) == [
        ("Tue 01-01 23:00", "Wed 01-02 00:00"),
        ("Wed 01-02 00:00", "Wed 01-02 01:00"),
    ]


def test_months_differ_in_length() -> None:
    assert between(
        DataTimetable("@monthly", timezone="UTC"), "2012-01-15T00:00Z", "2012-03-01T00:00Z"
    ) == [
        ("Wed 02-01 00:00", "Thu 03-01 00:00"),
        ("Thu 03-01 00:00", "Sun 04-01 00:00"),
    ]


def test_month_ends_and_the_leap_day() -> None:
    assert between(
        DataTimetable("0 0 L * *", timezone="UTC"), "2012-01-01T00:00Z", "2012-02-29T00:00Z"
    ) == [
        ("Tue 01-31 00:00", "Wed 02-29 00:00"),
        ("Wed 02-29 00:00", "Sat 03-31 00:00"),
    ]
    assert between(DAILY, "2012-02-28T00:00Z", "2012-02-29T00:00Z") == [
        ("Tue 02-28 00:00", "Wed 02-29 00:00"),
        ("Wed 02-29 00:00", "Thu 03-01 00:00"),
    ]


def test_weekdays_with_an_interval_run_friday_on_saturday() -> None:
    assert between(WEEKDAYS, "2013-01-03T00:00Z", "2013-01-07T00:00Z") == [
        ("Thu 01-03 00:00", "Fri 01-04 00:00"),
        ("Fri 01-04 00:00", "Sat 01-05 00:00"),
        ("Mon 01-07 00:00", "Tue 01-08 00:00"),
    ]


def test_weekdays_without_an_interval_run_friday_on_monday() -> None:
    weekdays = DataTimetable("0 0 * * MON-FRI", timezone="UTC")

    assert between(weekdays, "2013-01-04T00:00Z", "2013-01-04T00:00Z") == [
        ("Fri 01-04 00:00", "Mon 01-07 00:00")
    ]


def test_a_start_date_between_ticks_is_aligned_up() -> None:
    first = span("2013-01-02T00:00Z", "2013-01-03T00:00Z")

    assert next_interval(DAILY, None, bounds("2013-01-01T00:00:01Z")) == first
    assert next_interval(DAILY, None, bounds("2013-01-01T19:00-05:00")) == first


def test_a_start_date_that_moved_on_leaves_out_what_lies_before() -> None:
    last = span("2013-01-01T00:00Z", "2013-01-02T00:00Z")

    assert next_interval(DAILY, last, bounds("2013-02-01T08:00Z")) == span(
        "2013-02-02T00:00Z", "2013-02-03T00:00Z"
    )


def test_no_interval_starts_after_the_end_date() -> None:
    last = span("2013-01-01T00:00Z", "2013-01-02T00:00Z")

    assert next_interval(DAILY, last, bounds(latest="2013-01-02T00:00Z")) is not None
    assert next_interval(DAILY, last, bounds(latest="2013-01-01T23:59Z")) is None


def test_with_catchup_and_no_start_date_there_is_no_first_interval() -> None:
    assert next_interval(DAILY, None, bounds()) is None


@pytest.mark.parametrize(
    ("now", "start"),
    [
        ("2013-06-10T00:00Z", "2013-06-09T00:00Z"),
        ("2013-06-10T23:59:59Z", "2013-06-09T00:00Z"),
        ("2013-06-09T23:59:59Z", "2013-06-08T00:00Z"),
    ],
)
def test_without_catchup_the_latest_complete_interval_comes_next(now: str, start: str) -> None:
    expected = DataInterval(at(start), at(start) + DAY)
    old = span("2013-01-01T00:00Z", "2013-01-02T00:00Z")

    for last in (None, old):
        for earliest in (None, "2013-01-01T00:00Z"):
            restriction = bounds(earliest, catchup=False)
            assert next_interval(DAILY, last, restriction, now) == expected


def test_without_catchup_nothing_runs_twice_or_too_early() -> None:
    now = "2013-06-10T08:00Z"
    done = span("2013-06-09T00:00Z", "2013-06-10T00:00Z")

    assert next_interval(DAILY, done, bounds(catchup=False), now) == span(
        "2013-06-10T00:00Z", "2013-06-11T00:00Z"
    )
    assert next_interval(DAILY, None, bounds("2013-07-01T00:00Z", catchup=False), now) == span(
        "2013-07-01T00:00Z", "2013-07-02T00:00Z"
    )


def test_without_catchup_an_explicit_interval_must_be_over_as_well() -> None:
    sunday, monday = "2013-01-06T12:00Z", "2013-01-07T12:00Z"
    friday = span("2013-01-04T00:00Z", "2013-01-05T00:00Z")
    weekly = DataTimetable("0 0 * * *", timezone="UTC", interval=7 * DAY)

    assert next_interval(WEEKDAYS, None, bounds(catchup=False), sunday) == friday
    assert next_interval(WEEKDAYS, None, bounds(catchup=False), monday) == friday
    assert next_interval(weekly, None, bounds(catchup=False), monday) == span(
        "2012-12-31T00:00Z", "2013-01-07T00:00Z"
    )


def test_a_new_schedule_takes_over_where_the_old_one_stopped() -> None:
    last = span("2013-01-01T14:00Z", "2013-01-01T15:00Z")

    assert next_interval(DAILY, last, bounds()) == span("2013-01-01T15:00Z", "2013-01-02T00:00Z")


def test_a_new_schedule_with_an_interval_repeats_nothing() -> None:
    week = span("2012-12-30T00:00Z", "2013-01-06T00:00Z")

    assert next_interval(WEEKDAYS, week, bounds()) == span("2013-01-07T00:00Z", "2013-01-08T00:00Z")


def test_rolling_windows_overlap() -> None:
    rolling = DataTimetable("0 0 * * *", timezone="UTC", interval=7 * DAY)

    assert between(rolling, "2013-01-01T00:00Z", "2013-01-02T00:00Z") == [
        ("Tue 01-01 00:00", "Tue 01-08 00:00"),
        ("Wed 01-02 00:00", "Wed 01-09 00:00"),
    ]


def test_which_timetables_partition_time() -> None:
    assert DAILY.partitions
    assert WEEKDAYS.partitions
    assert not DataTimetable("0 0 * * *", timezone="UTC", interval=7 * DAY).partitions
    assert not DataTimetable("0 */12 * * *", timezone="UTC", interval=DAY).partitions


def test_days_are_as_long_as_the_zone_has_them() -> None:
    daily = DataTimetable("0 0 * * *", timezone=NEW_YORK)
    restriction = bounds("2013-03-10T00:00-05:00")
    spring = next_interval(daily, None, restriction)
    autumn = next_interval(daily, None, bounds("2013-11-03T00:00-04:00"))

    assert spring == span("2013-03-10T05:00Z", "2013-03-11T04:00Z")
    assert autumn == span("2013-11-03T04:00Z", "2013-11-04T05:00Z")
    assert spring.start.tzinfo is UTC


def test_an_explicit_interval_counts_calendar_days_and_elapsed_hours() -> None:
    restriction = bounds("2013-03-10T00:00-05:00")
    daily = DataTimetable("0 0 * * *", timezone=NEW_YORK, interval=DAY)
    longer = DataTimetable("0 0 * * *", timezone=NEW_YORK, interval=DAY + timedelta(hours=6))
    hours = DataTimetable("0 0 * * *", timezone=NEW_YORK, interval=timedelta(hours=6))

    assert next_interval(daily, None, restriction) == span("2013-03-10T05:00Z", "2013-03-11T04:00Z")
    assert next_interval(longer, None, restriction) == span(
        "2013-03-10T05:00Z", "2013-03-11T10:00Z"
    )
    assert next_interval(hours, None, restriction) == span("2013-03-10T05:00Z", "2013-03-10T11:00Z")


def test_a_manual_run_is_about_the_last_complete_interval() -> None:
    noon = at("2013-01-06T12:00Z")  # a Sunday

    assert DAILY.infer_manual_data_interval(noon) == span("2013-01-05T00:00Z", "2013-01-06T00:00Z")
    assert WEEKDAYS.infer_manual_data_interval(noon) == span(
        "2013-01-04T00:00Z", "2013-01-05T00:00Z"
    )
    assert DAILY.infer_manual_data_interval(at("2013-01-06T00:00Z")) == span(
        "2013-01-05T00:00Z", "2013-01-06T00:00Z"
    )


def test_a_short_day_is_complete_as_soon_as_it_is_over() -> None:
    daily = DataTimetable("0 0 * * *", timezone=NEW_YORK, interval=DAY)
    spring = span("2013-03-10T05:00Z", "2013-03-11T04:00Z")

    assert daily.infer_manual_data_interval(at("2013-03-11T04:00Z")) == spring
    assert daily.infer_manual_data_interval(at("2013-03-11T03:59Z")) != spring


def test_the_calendar_has_an_end() -> None:
    last = span("9999-12-30T00:00Z", "9999-12-31T00:00Z")

    assert next_interval(DAILY, last, bounds()) is None
    with pytest.raises(TimetableError, match="beginning of the calendar"):
        DAILY.infer_manual_data_interval(at("0001-01-01T12:00Z"))


@pytest.mark.parametrize("interval", [timedelta(0), -DAY, 5, "one day"])
def test_an_interval_is_a_positive_timedelta(interval: timedelta) -> None:
    with pytest.raises(TimetableError, match=r"The interval of a timetable (must|cannot) be"):
        DataTimetable("0 0 * * *", timezone="UTC", interval=interval)


def test_bounds_need_a_time_zone() -> None:
    with pytest.raises(TimetableError, match="has no time zone"):
        bounds("2013-01-01")


def test_the_summary_is_the_cron_string() -> None:
    assert DataTimetable("@daily", timezone="UTC").summary == "0 0 * * *"
    assert WEEKDAYS.summary == "0 0 * * MON-FRI over 1 day, 0:00:00"
    assert DataTimetable(" 0  0 * * * ", timezone="UTC") == DAILY


@pytest.mark.parametrize(
    ("cron", "zone", "day", "expected"),
    [
        (
            "30 2 * * *",
            NEW_YORK,
            "2026-03-07T12:00Z",
            ["03-07 07:30", "03-08 07:00", "03-09 06:30", "03-10 06:30"],
        ),
        (
            "0 0 * * *",
            "America/Havana",
            "2026-03-07T12:00Z",
            ["03-07 05:00", "03-08 05:00", "03-09 04:00", "03-10 04:00"],
        ),
        (
            "30 2 * * *",
            "Pacific/Apia",
            "2011-12-30T00:00Z",
            ["12-29 12:30", "12-30 10:00", "12-30 12:30", "12-31 12:30"],
        ),
    ],
)
def test_a_day_that_a_gap_has_moved_ends_when_the_next_one_begins(
    cron: str, zone: str, day: str, expected: list[str]
) -> None:
    daily = DataTimetable(cron, timezone=zone, interval=DAY)
    first, last = at(day) - DAY, at(day) + 2 * DAY
    infos = runs_between(daily, first, first, last)
    spans = [info.data_interval for info in infos][:3]

    assert [
        f"{moment:%m-%d %H:%M}" for moment in [spans[0].start, *(span.end for span in spans)]
    ] == (expected)
    assert all(one.end == other.start for one, other in pairwise(spans))


def test_a_time_that_comes_twice_is_not_once_a_day() -> None:
    """Else the days from both would end at one instant."""
    daily = DataTimetable("*/60 1 * * *", timezone=NEW_YORK, interval=DAY)

    assert between(daily, "2026-11-01T00:00Z", "2026-11-01T12:00Z") == [
        ("Sun 11-01 05:00", "Mon 11-02 05:00"),
        ("Sun 11-01 06:00", "Mon 11-02 06:00"),
    ]
