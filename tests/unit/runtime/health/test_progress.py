"""When a loop counts as stuck."""

from headway.runtime.health.progress import STUCK_AFTER, LoopProgress
from headway.testing.time.clock import FakeClock


def test_a_loop_that_is_not_heard_of_for_the_bound_is_stuck() -> None:
    clock = FakeClock()
    progress = LoopProgress(clock)

    clock.advance(STUCK_AFTER)
    assert progress.check().ok

    clock.advance(0.1)
    check = progress.check()
    assert not check.ok
    assert check.found == "last moved 120.1 s ago"


def test_one_that_moves_is_not_stuck_any_more() -> None:
    clock = FakeClock()
    progress = LoopProgress(clock)
    clock.advance(10 * STUCK_AFTER)

    progress.move()

    assert progress.check().ok
    assert progress.check().found == "last moved 0.0 s ago"


def test_a_rest_that_was_announced_does_not_count() -> None:
    """`scheduler_idle_sleep_time` may be any number of seconds."""
    clock = FakeClock()
    progress = LoopProgress(clock, bound=10)

    progress.move(300)
    clock.advance(310)
    assert progress.check().ok

    clock.advance(0.1)
    assert not progress.check().ok


def test_a_rest_is_over_when_the_loop_moves() -> None:
    clock = FakeClock()
    progress = LoopProgress(clock, bound=10)
    progress.move(300)

    progress.move()
    clock.advance(10.1)

    assert not progress.check().ok
