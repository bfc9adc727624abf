"""Where the flights example puts what it makes."""

from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from flights.paths import DayPaths

LOS_ANGELES = ZoneInfo("America/Los_Angeles")
OUTPUT = {"output": "/data/flights"}


@pytest.mark.parametrize(
    ("start", "day"),
    [
        (datetime(2013, 1, 1, 5, tzinfo=UTC), date(2013, 1, 1)),  # winter: midnight is 05:00
        (datetime(2013, 7, 1, 4, tzinfo=UTC), date(2013, 7, 1)),  # summer: midnight is 04:00
        (datetime(2013, 3, 10, 5, tzinfo=UTC), date(2013, 3, 10)),  # the day of 23 hours
        (datetime(2013, 3, 11, 4, tzinfo=UTC), date(2013, 3, 11)),
        (datetime(2012, 12, 31, 21, tzinfo=LOS_ANGELES), date(2013, 1, 1)),
    ],
)
def test_the_day_is_the_one_that_begins_in_new_york(start: datetime, day: date) -> None:
    assert DayPaths.of(OUTPUT, start).day == day


def test_each_table_has_one_folder_a_day() -> None:
    paths = DayPaths(Path("/data/flights"), date(2013, 1, 9))

    assert paths.partition("by_carrier") == "/data/flights/by_carrier/day=2013-01-09"
    assert paths.summary == Path("/data/flights/summary/day=2013-01-09.json")


def test_the_home_folder_may_be_written_as_a_tilde() -> None:
    paths = DayPaths.of({"output": "~/out"}, datetime(2013, 1, 1, 5, tzinfo=UTC))

    assert paths.root == Path.home() / "out"


def test_a_relative_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="'out'; make it an absolute path"):
        DayPaths.of({"output": "out"}, datetime(2013, 1, 1, 5, tzinfo=UTC))
