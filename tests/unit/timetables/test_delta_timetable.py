from datetime import UTC, datetime, timedelta

import pytest

from headway.domain.errors import TimetableError
from headway.domain.interval import DataInterval
from headway.timetables.base import TimeRestriction
from headway.timetables.kinds.delta import TimeDeltaTimetable
from headway.timetables.sequence import runs_between

at = datetime.fromisoformat
HOUR = timedelta(hours=1)
SIX_HOURS = TimeDeltaTimetable(6 * HOUR)
NOW = at("2013-01-05T13:30Z")


def span(start: str, end: str) -> DataInterval:
    return DataInterval(at(start), at(end))


def next_interval(
    timetable: TimeDeltaTimetable,
    last: DataInterval | None,
    earliest: str | None = None,
    *,
    catchup: bool = True,
) -> DataInterval | None:
    restriction = TimeRestriction(at(earliest) if earliest else None, None, catchup)
    info = timetable.next_dagrun_info(last, restriction, NOW)
    if info is None:
        return None
    assert info.run_after == info.data_interval.end
    return info.data_interval


def test_intervals_are_counted_from_the_start_date() -> None:
    start = at("2013-01-01T02:30-05:00")
    infos = runs_between(SIX_HOURS, start, start, at("2013-01-01T19:30Z"))

    assert [info.data_interval for info in infos] == [
        span("2013-01-01T07:30Z", "2013-01-01T13:30Z"),
        span("2013-01-01T13:30Z", "2013-01-01T19:30Z"),
        span("2013-01-01T19:30Z", "2013-01-02T01:30Z"),
    ]


def test_elapsed_time_knows_no_change_of_clocks() -> None:
    last = span("2013-03-09T00:00-05:00", "2013-03-10T00:00-05:00")
    following = next_interval(TimeDeltaTimetable(24 * HOUR), last)

    assert following == span("2013-03-10T05:00Z", "2013-03-11T05:00Z")
    assert following.start.tzinfo is UTC


def test_without_catchup_the_latest_complete_interval_comes_next() -> None:
    assert next_interval(SIX_HOURS, None, "2013-01-01T01:00Z", catchup=False) == span(
        "2013-01-05T07:00Z", "2013-01-05T13:00Z"
    )
    assert next_interval(SIX_HOURS, None, "2013-01-01T01:30Z", catchup=False) == span(
        "2013-01-05T07:30Z", "2013-01-05T13:30Z"
    )
    last = span("2013-01-01T02:00Z", "2013-01-01T08:00Z")
    assert next_interval(SIX_HOURS, last, catchup=False) == span(
        "2013-01-05T02:00Z", "2013-01-05T08:00Z"
    )


def test_without_catchup_no_interval_comes_twice_or_too_early() -> None:
    done = span("2013-01-05T07:00Z", "2013-01-05T13:00Z")

    assert next_interval(SIX_HOURS, done, catchup=False) == span(
        "2013-01-05T13:00Z", "2013-01-05T19:00Z"
    )
    assert next_interval(SIX_HOURS, None, "2013-02-01T01:00Z", catchup=False) == span(
        "2013-02-01T01:00Z", "2013-02-01T07:00Z"
    )


def test_without_a_start_date_intervals_are_counted_from_1970() -> None:
    assert next_interval(SIX_HOURS, None, catchup=False) == span(
        "2013-01-05T06:00Z", "2013-01-05T12:00Z"
    )
    assert next_interval(SIX_HOURS, None) is None
    week = TimeDeltaTimetable(timedelta(days=7))
    assert next_interval(week, None, catchup=False) == span(
        "2012-12-27T00:00Z", "2013-01-03T00:00Z"
    ), "1 January 1970 was a Thursday"


def test_an_explicit_interval_may_be_shorter_or_longer() -> None:
    last = span("2013-01-01T00:00Z", "2013-01-01T01:00Z")
    shorter = TimeDeltaTimetable(6 * HOUR, interval=HOUR)
    longer = TimeDeltaTimetable(6 * HOUR, interval=24 * HOUR)

    assert next_interval(shorter, last) == span("2013-01-01T06:00Z", "2013-01-01T07:00Z")
    assert next_interval(longer, span("2013-01-01T00:00Z", "2013-01-02T00:00Z")) == span(
        "2013-01-01T06:00Z", "2013-01-02T06:00Z"
    )
    assert (SIX_HOURS.partitions, shorter.partitions, longer.partitions) == (True, True, False)


def test_a_new_schedule_takes_over_where_the_old_one_stopped() -> None:
    week = span("2013-01-01T00:00Z", "2013-01-08T00:00Z")
    shorter = TimeDeltaTimetable(6 * HOUR, interval=HOUR)

    assert next_interval(SIX_HOURS, week) == span("2013-01-08T00:00Z", "2013-01-08T06:00Z")
    assert next_interval(shorter, week) == span("2013-01-08T00:00Z", "2013-01-08T01:00Z")


def test_a_manual_run_is_about_the_time_before_it() -> None:
    assert SIX_HOURS.infer_manual_data_interval(NOW) == DataInterval(NOW - 6 * HOUR, NOW)


def test_the_calendar_has_an_end() -> None:
    ages = TimeDeltaTimetable(timedelta(days=999_999))

    assert next_interval(ages, span("9000-01-01T00:00Z", "9000-01-02T00:00Z")) is None
    with pytest.raises(TimetableError, match="beginning of the calendar"):
        ages.infer_manual_data_interval(NOW)


@pytest.mark.parametrize("delta", [timedelta(0), -HOUR, 60, None])
def test_the_period_is_a_positive_timedelta(delta: timedelta) -> None:
    with pytest.raises(TimetableError, match="The period of a schedule must be"):
        TimeDeltaTimetable(delta)


def test_the_interval_is_a_positive_timedelta() -> None:
    with pytest.raises(TimetableError, match="The interval of a timetable must be longer"):
        TimeDeltaTimetable(HOUR, interval=timedelta(0))


def test_the_summary_says_how_often() -> None:
    assert TimeDeltaTimetable(timedelta(minutes=5)).summary == "every 0:05:00"
    assert TimeDeltaTimetable(HOUR, 2 * HOUR).summary == "every 1:00:00 over 2:00:00"
