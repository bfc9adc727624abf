"""The time that runs are about of which no two may be about the same."""

from datetime import UTC, datetime

import pytest

from headway.decide.scheduling.rollup import Spans
from headway.domain.interval import DataInterval


def days(first: int, last: int) -> DataInterval:
    return DataInterval(datetime(2013, 1, first, tzinfo=UTC), datetime(2013, 1, last, tzinfo=UTC))


@pytest.mark.parametrize(
    ("its", "overlaps"),
    [
        (days(1, 2), False),
        (days(1, 3), True),
        (days(5, 6), True),
        (days(9, 12), True),
        (days(10, 12), False),
        (days(12, 14), False),
        (days(13, 15), True),
        (days(15, 17), True),
        (days(17, 20), False),
    ],
)
def test_a_short_interval_within_a_long_one_ends_nothing(its: DataInterval, overlaps: bool) -> None:
    spans = Spans([days(2, 10), days(3, 4), days(14, 16), days(16, 17), days(11, 11)])

    assert spans.overlap(its) is overlaps
