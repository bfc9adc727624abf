"""How far two clocks are taken to differ, by a question and its answer."""

from datetime import UTC, datetime, timedelta

import pytest

from headway.domain.clock_skew import described, is_beyond, is_notable, skew

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("before", "theirs", "after", "expected"),
    [
        (0.0, 0.5, 1.0, 0.0),
        (600.0, 0.1, 600.2, 599.9),
        (-600.0, 0.1, -599.8, -599.9),
        (0.0, 30.0, 30.1, 0.0),  # the statement waited for a lock
        (0.0, 0.1, 3600.0, 0.0),  # the machine was suspended before the answer was read
        (0.0, 3600.0, 3600.1, 0.0),  # or before the question was sent
        (600.0, 0.1, 0.2, 0.1),  # this clock was set right meanwhile
        (0.0, 0.1, 600.0, 0.0),  # or was set ahead, which the next comparison finds
    ],
)
def test_the_difference_is_what_both_readings_prove(
    before: float, theirs: float, after: float, expected: float
) -> None:
    assert skew(at(before), at(theirs), at(after)) == pytest.approx(expected)


def test_a_bound_of_zero_is_none() -> None:
    assert is_beyond(61, 60)
    assert is_beyond(-61, 60)
    assert not is_beyond(60, 60)
    assert not is_beyond(10**9, 0)
    assert is_beyond(0.6, 0.5)


def test_a_second_is_not_notable() -> None:
    assert [is_notable(skew) for skew in (1.0, -1.0, 1.1, -1.1)] == [False, False, True, True]


def test_a_difference_says_its_direction() -> None:
    assert described(600) == "600.0 s ahead of the database's clock"
    assert described(-2.25) == "2.2 s behind the database's clock"
