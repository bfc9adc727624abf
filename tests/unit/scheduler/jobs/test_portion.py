"""How much a scheduler does at once after an outage."""

from collections.abc import Callable

import pytest

from headway_scheduler.jobs.portion import FEWEST, MOST, SECONDS, PortionSize


def settled(seconds: Callable[[int], float]) -> int:
    """Return the size after a while of passes that take so long for so many."""
    portion = PortionSize()
    for _ in range(20):
        portion.took(seconds(portion.size))
    return portion.size


@pytest.mark.parametrize("each", [0.0001, 0.0002, 0.0004])
def test_a_portion_takes_as_long_as_others_may_wait(each: float) -> None:
    size = settled(lambda size: each * size)

    assert size * each == pytest.approx(SECONDS, rel=0.02)


def test_what_a_pass_takes_whatever_it_does_is_part_of_it() -> None:
    size = settled(lambda size: SECONDS / 2 + 0.0001 * size)

    assert size * 0.0001 == pytest.approx(SECONDS / 2, rel=0.02)


def test_on_a_machine_that_is_busy_something_is_done_still() -> None:
    assert settled(lambda _: 10.0) == FEWEST


def test_on_the_fastest_machine_there_is_an_end() -> None:
    assert settled(lambda _: 0.0) == MOST


def test_one_slow_pass_does_not_stop_everything() -> None:
    portion = PortionSize(size=1000)

    portion.took(100 * SECONDS)

    assert portion.size == 500
