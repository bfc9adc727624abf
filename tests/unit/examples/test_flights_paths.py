"""Where the flights example puts what it makes."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from flights.paths import RunPaths

LOS_ANGELES = ZoneInfo("America/Los_Angeles")
OUTPUT = {"output": "/data/flights"}
NEW_YEAR = datetime(2013, 1, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)


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
    assert RunPaths.of(OUTPUT, start, start + DAY).days == (day,)


def test_a_run_about_several_days_has_them_all_whatever_their_length() -> None:
    """From 10 March, a day of 23 hours, on."""
    start, end = datetime(2013, 3, 9, 5, tzinfo=UTC), datetime(2013, 3, 12, 4, tzinfo=UTC)

    paths = RunPaths.of(OUTPUT, start, end)

    assert paths.days == (date(2013, 3, 9), date(2013, 3, 10), date(2013, 3, 11))
    assert paths.period == "2013-03-09 to 2013-03-11"
    assert RunPaths.of(OUTPUT, start, start + DAY).period == "2013-03-09"


def test_each_table_has_a_folder() -> None:
    paths = RunPaths(Path("/data/flights"), (date(2013, 1, 9),))

    assert paths.table("by_carrier") == "/data/flights/by_carrier"
    assert paths.summary("2013-01-09") == Path("/data/flights/summary/day=2013-01-09.json")


def test_the_home_folder_may_be_written_as_a_tilde() -> None:
    paths = RunPaths.of({"output": "~/out"}, NEW_YEAR, NEW_YEAR + DAY)

    assert paths.root == Path.home() / "out"


def test_a_relative_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="'out'; make it an absolute path"):
        RunPaths.of({"output": "out"}, NEW_YEAR, NEW_YEAR + DAY)
