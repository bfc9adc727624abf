"""Which partitions a data interval is made of; on paper, checked by hand."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from headway.domain.errors import DagError
from headway.domain.interval import DataInterval
from headway.sdk.partitions import partition_names

NEW_YORK = "America/New_York"


def interval(start: str, end: str, zone: str) -> DataInterval:
    first, last = (
        datetime.fromisoformat(each).replace(tzinfo=ZoneInfo(zone)) for each in (start, end)
    )
    return DataInterval(first.astimezone(ZoneInfo("UTC")), last.astimezone(ZoneInfo("UTC")))


@pytest.mark.parametrize(
    ("start", "end", "zone", "by", "expected"),
    [
        ("2013-01-01", "2013-01-02", NEW_YORK, "day", ["2013-01-01"]),
        ("2013-03-10", "2013-03-11", NEW_YORK, "day", ["2013-03-10"]),  # 23 hours
        ("2013-11-03", "2013-11-04", NEW_YORK, "day", ["2013-11-03"]),  # 25 hours
        ("2013-12-31", "2014-01-02", NEW_YORK, "day", ["2013-12-31", "2014-01-01"]),
        ("2013-06-01", "2013-06-02", "Asia/Tokyo", "day", ["2013-06-01"]),
        # Midnight did not exist there on that day, which begins at one.
        ("2017-10-15T01:00", "2017-10-16", "America/Sao_Paulo", "day", ["2017-10-15"]),
        ("2012-02-01", "2012-03-01", NEW_YORK, "month", ["2012-02"]),
        ("2012-12-01", "2013-03-01", NEW_YORK, "month", ["2012-12", "2013-01", "2013-02"]),
        ("2013-01-01T23:00", "2013-01-02T01:00", "UTC", "hour", ["2013-01-01T23", "2013-01-02T00"]),
        ("2013-01-01T10:00", "2013-01-01T11:00", NEW_YORK, "hour", ["2013-01-01T15"]),
        ("2013-01-01T10:30", "2013-01-01T11:30", "Asia/Kolkata", "hour", ["2013-01-01T05"]),
        ("2013-01-01T22:17", "2013-01-01T22:17", NEW_YORK, "day", ["2013-01-01"]),
        ("2013-01-31T22:17", "2013-01-31T22:17", NEW_YORK, "month", ["2013-01"]),
        ("2013-01-01T00:00", "2013-01-01T00:00", NEW_YORK, "hour", ["2013-01-01T05"]),
    ],
)
def test_the_partitions_of_an_interval(
    start: str, end: str, zone: str, by: str, expected: list[str]
) -> None:
    assert partition_names(interval(start, end, zone), by, zone) == expected


@pytest.mark.parametrize(
    ("start", "end", "zone", "by"),
    [
        ("2013-01-01T06:00", "2013-01-01T18:00", NEW_YORK, "day"),
        ("2013-01-01", "2013-01-02T12:00", NEW_YORK, "day"),
        ("2013-01-01T01:00", "2013-01-02", NEW_YORK, "day"),
        ("2013-01-01", "2013-01-08", NEW_YORK, "month"),
        ("2013-01-01T10:15", "2013-01-01T11:15", "UTC", "hour"),
        ("2013-01-01T10:00", "2013-01-01T11:00", "Asia/Kolkata", "hour"),
    ],
)
def test_an_interval_that_cuts_a_partition_is_refused(
    start: str, end: str, zone: str, by: str
) -> None:
    with pytest.raises(DagError, match=f"is not made up of whole {by}s"):
        partition_names(interval(start, end, zone), by, zone)


def test_a_day_of_another_zone_is_cut() -> None:
    with pytest.raises(DagError, match="whole days of UTC"):
        partition_names(interval("2013-01-01", "2013-01-02", NEW_YORK), "day", "UTC")


def test_another_unit_is_refused() -> None:
    with pytest.raises(DagError, match="by hour, day, month, not by 'week'"):
        partition_names(interval("2013-01-01", "2013-01-02", "UTC"), "week", "UTC")
