from datetime import UTC, datetime, timedelta

import pytest

from headway.domain.errors import TimetableError
from headway.domain.interval import DataInterval

START = datetime(2013, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def test_an_interval_ends_where_the_next_one_starts() -> None:
    first, second = DataInterval(START, START + DAY), DataInterval(START + DAY, START + 2 * DAY)

    assert first.end == second.start
    assert first < second


def test_an_exact_time_is_an_interval_of_no_length() -> None:
    assert DataInterval.exact(START) == DataInterval(START, START)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (START.replace(tzinfo=None), START),
        (START, START.replace(tzinfo=None)),
    ],
)
def test_both_ends_need_a_zone(start: datetime, end: datetime) -> None:
    with pytest.raises(TimetableError, match="needs dates with a time zone"):
        DataInterval(start, end)


def test_time_does_not_run_backwards() -> None:
    with pytest.raises(TimetableError, match=r"cannot end .* before it starts"):
        DataInterval(START, START - timedelta(microseconds=1))
