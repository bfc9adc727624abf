"""What fires when where the clocks are changed; all dates are worked out by hand.

New York 2013: 10 March 02:00 EST becomes 03:00 EDT (07:00Z); 3 November 02:00 EDT becomes
01:00 EST (06:00Z).  Lord Howe 2013: 7 April 02:00 (+11:00) becomes 01:30 (+10:30), 15:00Z
the day before; 6 October 02:00 becomes 02:30, 15:30Z the day before.
"""

from datetime import datetime, timedelta

import pytest

from headway.domain.errors import TimetableError
from headway.timetables.wall_clock.ticks import ticks_of

at = datetime.fromisoformat
NEW_YORK = "America/New_York"
LORD_HOWE = "Australia/Lord_Howe"


def ticks(cron: str, zone: str, first: str, last: str) -> list[str]:
    """Return the ticks in `[first, last]`, and check that the way back is the same."""
    sequence = ticks_of(cron, zone)
    found: list[datetime] = []
    tick = sequence.at_or_after(at(first))
    while tick <= at(last):
        found.append(tick)
        tick = sequence.after(tick)

    back: list[datetime] = []
    tick = sequence.at_or_before(at(last))
    while tick >= at(first):
        back.insert(0, tick)
        tick = sequence.before(tick)
    assert back == found
    assert all(tick.utcoffset() == timedelta(0) for tick in found)
    return [f"{tick:%m-%d %H:%M}" for tick in found]


def test_a_skipped_time_fires_when_the_gap_ends() -> None:
    assert ticks("30 2 * * *", NEW_YORK, "2013-03-09T00:00Z", "2013-03-12T00:00Z") == [
        "03-09 07:30",
        "03-10 07:00",
        "03-11 06:30",
    ]


@pytest.mark.parametrize("cron", ["*/15 2 * * *", "* 2 * * *", "10,50 2,3 * * *", "30 */2 * * *"])
def test_skipped_times_fire_once_together(cron: str) -> None:
    assert ticks(cron, NEW_YORK, "2013-03-10T06:30Z", "2013-03-10T07:05Z") == ["03-10 07:00"]


def test_a_tick_at_the_end_of_the_gap_is_not_doubled_by_a_skipped_one() -> None:
    assert ticks("30 2,3 * * *", NEW_YORK, "2013-03-10T05:00Z", "2013-03-10T09:00Z") == [
        "03-10 07:00",
        "03-10 07:30",
    ]
    assert ticks("0 2,3 * * *", NEW_YORK, "2013-03-10T05:00Z", "2013-03-10T09:00Z") == [
        "03-10 07:00"
    ]


def test_an_hourly_pattern_goes_on_hour_by_hour_across_a_gap() -> None:
    assert ticks("30 * * * *", NEW_YORK, "2013-03-10T05:00Z", "2013-03-10T09:00Z") == [
        "03-10 05:30",
        "03-10 06:30",
        "03-10 07:30",
        "03-10 08:30",
    ]


def test_a_repeated_fixed_time_fires_at_its_first_occurrence_alone() -> None:
    assert ticks("30 1 * * *", NEW_YORK, "2013-11-02T00:00Z", "2013-11-05T00:00Z") == [
        "11-02 05:30",
        "11-03 05:30",
        "11-04 06:30",
    ]
    assert ticks("0,30 1,2 * * *", NEW_YORK, "2013-11-03T00:00Z", "2013-11-04T00:00Z") == [
        "11-03 05:00",
        "11-03 05:30",
        "11-03 07:00",
        "11-03 07:30",
    ]


def test_hourly_and_minutely_patterns_fire_in_both_hours_of_a_fold() -> None:
    assert ticks("0 * * * *", NEW_YORK, "2013-11-03T04:00Z", "2013-11-03T07:00Z") == [
        "11-03 04:00",
        "11-03 05:00",
        "11-03 06:00",
        "11-03 07:00",
    ]
    assert ticks("*/30 1 * * *", NEW_YORK, "2013-11-03T04:00Z", "2013-11-03T08:00Z") == [
        "11-03 05:00",
        "11-03 05:30",
        "11-03 06:00",
        "11-03 06:30",
    ]


def test_a_pattern_of_every_few_hours_fires_in_both_hours_of_a_fold() -> None:
    """In Berlin, 25 October 2026 03:00 (01:00Z) became 02:00."""
    day = "2026-10-24T21:00Z", "2026-10-25T05:00Z"

    assert ticks("0 */2 * * *", "Europe/Berlin", *day) == [
        "10-24 22:00",
        "10-25 00:00",
        "10-25 01:00",
        "10-25 03:00",
        "10-25 05:00",
    ]
    assert ticks("0 0-23/2 * * *", "Europe/Berlin", *day) == [
        "10-24 22:00",
        "10-25 00:00",
        "10-25 03:00",
        "10-25 05:00",
    ]


@pytest.mark.parametrize(("day", "hours"), [("2013-03-10", 23), ("2013-11-03", 25)])
def test_an_hourly_pattern_fires_once_per_hour_that_the_day_has(day: str, hours: int) -> None:
    starts = ticks_of("0 0 * * *", NEW_YORK)
    midnight = starts.after(at(f"{day}T00:00Z"))
    last = starts.after(midnight) - timedelta(seconds=1)

    assert len(ticks("0 * * * *", NEW_YORK, str(midnight), str(last))) == hours


def test_between_ticks_of_a_fold() -> None:
    quarters = ticks_of("*/30 * * * *", NEW_YORK)

    assert quarters.before(at("2013-11-03T06:00Z")) == at("2013-11-03T05:30Z")
    assert quarters.before(at("2013-11-03T06:10Z")) == at("2013-11-03T06:00Z")
    assert ticks_of("30 1 * * *", NEW_YORK).before(at("2013-11-03T06:10Z")) == at(
        "2013-11-03T05:30Z"
    )


def test_a_gap_of_half_an_hour() -> None:
    assert ticks("15 2 * * *", LORD_HOWE, "2013-10-04T12:00Z", "2013-10-06T23:00Z") == [
        "10-04 15:45",
        "10-05 15:30",
        "10-06 15:15",
    ]
    assert ticks("*/15 * * * *", LORD_HOWE, "2013-10-05T15:00Z", "2013-10-05T16:00Z") == [
        "10-05 15:00",
        "10-05 15:15",
        "10-05 15:30",
        "10-05 15:45",
        "10-05 16:00",
    ]


def test_a_fold_of_half_an_hour() -> None:
    assert ticks("45 1 * * *", LORD_HOWE, "2013-04-05T12:00Z", "2013-04-07T23:00Z") == [
        "04-05 14:45",
        "04-06 14:45",
        "04-07 15:15",
    ]
    assert ticks("*/15 * * * *", LORD_HOWE, "2013-04-06T14:30Z", "2013-04-06T15:30Z") == [
        "04-06 14:30",
        "04-06 14:45",
        "04-06 15:00",
        "04-06 15:15",
        "04-06 15:30",
    ]


def test_a_fold_that_goes_back_to_the_day_before() -> None:
    """In St John's, 7 November 2010 00:01 (02:31Z) became 6 November 23:01."""
    zone, first, last = "America/St_Johns", "2010-11-07T01:00Z", "2010-11-07T05:00Z"

    assert ticks("0 0 * * *", zone, first, last) == ["11-07 02:30"]
    assert ticks("0 * * * *", zone, first, last) == [
        "11-07 01:30",
        "11-07 02:30",
        "11-07 03:30",
        "11-07 04:30",
    ]


def test_a_midnight_that_is_skipped() -> None:
    """In São Paulo, 20 October 2013 began at 01:00 (03:00Z)."""
    assert ticks("0 0 * * *", "America/Sao_Paulo", "2013-10-19T00:00Z", "2013-10-22T00:00Z") == [
        "10-19 03:00",
        "10-20 03:00",
        "10-21 02:00",
    ]


def test_a_day_that_is_skipped() -> None:
    """Samoa had no 30 December 2011; it ended the 29th at 10:00Z."""
    assert ticks("0 12 * * *", "Pacific/Apia", "2011-12-28T12:00Z", "2012-01-01T00:00Z") == [
        "12-28 22:00",
        "12-29 22:00",
        "12-30 10:00",
        "12-30 22:00",
        "12-31 22:00",
    ]


def test_a_gap_that_ends_within_a_minute() -> None:
    """Monrovia's clocks went from -00:44:30 to UTC on 7 January 1972, 00:44:30Z."""
    sequence = ticks_of("20 0 * * *", "Africa/Monrovia")

    assert sequence.after(at("1972-01-06T12:00Z")) == at("1972-01-07T00:44:30Z")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "/etc/passwd", "../UTC", "America", None, 3])
def test_an_unknown_zone_is_refused(zone: object) -> None:
    with pytest.raises(TimetableError, match="is no time zone; give a name of the IANA database"):
        ticks_of("0 0 * * *", zone)
