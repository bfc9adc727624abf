from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.loop import Found, Loop, Pace, never
from headway.runtime.health import LoopProgress
from headway.testing.time.clock import FakeClock

NOTHING, ALL, MORE = Found


class BlipError(Exception):
    """An error that passes."""


def is_blip(error: BaseException) -> bool:
    return isinstance(error, BlipError)


class Latest(Random):
    """Chance that always makes a wait the longest."""

    def random(self) -> float:
        return 1.0


def run(outcomes: list[Found | Exception], pace: Pace) -> float:
    """Run a loop over these step outcomes; return how long it waited in all."""
    clock = FakeClock()

    def step() -> Found:
        outcome = outcomes.pop(0)
        if not outcomes:
            loop.bell.stop()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    loop = Loop("test", step, clock, is_blip, pace, random=Latest())
    loop.run()
    return clock.monotonic()


def test_waits_only_when_idle() -> None:
    assert run([MORE, NOTHING, MORE, NOTHING, MORE], Pace(first=5, idle=5)) == 10


def test_waits_twice_as_long_after_each_step_in_vain() -> None:
    assert run([NOTHING, NOTHING, NOTHING, NOTHING, MORE], Pace(first=1, idle=60)) == 1 + 2 + 4 + 8


def test_waits_no_longer_than_the_longest_wait() -> None:
    assert run([NOTHING, NOTHING, NOTHING, NOTHING, MORE], Pace(first=1, idle=3)) == 1 + 2 + 3 + 3


def test_after_work_the_next_wait_is_the_shortest_again() -> None:
    assert run([NOTHING, NOTHING, MORE, NOTHING, MORE], Pace(first=1, idle=60)) == 1 + 2 + 1


def test_where_all_is_done_the_wait_is_the_shortest_again() -> None:
    assert run([ALL, MORE], Pace(first=1, idle=60)) == 1
    assert run([NOTHING, NOTHING, ALL, NOTHING, MORE], Pace(first=1, idle=60)) == 1 + 2 + 1 + 2
    assert run([ALL, ALL, ALL, MORE], Pace(first=1, idle=60)) == 1 + 1 + 1


def test_what_is_found_is_true_if_it_is_anything() -> None:
    assert [bool(found) for found in (NOTHING, ALL, MORE)] == [False, True, True]


def test_a_failure_is_no_step_in_vain() -> None:
    pace = Pace(first=1, idle=60, retry_first=9)

    assert run([NOTHING, BlipError(), NOTHING, MORE], pace) == 1 + 9 + 2


def ringing(rings: list[bool], pace: Pace) -> float:
    """Run a loop whose steps find nothing, and are rung during some; return the time it takes."""
    clock = FakeClock()

    def step() -> Found:
        if rings.pop(0):
            loop.bell.ring()
        if not rings:
            loop.bell.stop()
        return NOTHING

    loop = Loop("test", step, clock, pace=pace)
    loop.run()
    return clock.monotonic()


def test_a_ring_during_a_step_ends_the_wait_after_it() -> None:
    assert ringing([True, False], Pace(first=1)) == 0


def test_a_ring_is_for_one_step() -> None:
    assert ringing([True, False, False], Pace(first=1)) == 1


def test_after_a_ring_the_next_wait_is_the_shortest_again() -> None:
    assert ringing([False, False, True, False, False], Pace(first=1, idle=60)) == 1 + 2 + 1


def test_a_ring_does_not_cut_short_the_wait_after_a_failure() -> None:
    clock, outcomes = FakeClock(), [BlipError(), None]

    def step() -> Found:
        loop.bell.ring()
        if error := outcomes.pop(0):
            raise error
        loop.bell.stop()
        return MORE

    loop = Loop("test", step, clock, is_blip, Pace(retry_first=7), random=Latest())
    loop.run()

    assert clock.monotonic() == 7


def test_backs_off_twice_as_long_after_each_failure() -> None:
    assert run([BlipError(), BlipError(), BlipError(), MORE], Pace(retry_first=1)) == 1 + 2 + 4


def test_backs_off_no_longer_than_the_longest_wait() -> None:
    failures = [BlipError() for _ in range(4)]

    assert run([*failures, MORE], Pace(retry_first=1, retry_longest=3)) == 1 + 2 + 3 + 3


def test_a_step_that_succeeds_makes_the_next_failure_the_first_again() -> None:
    waited = run([BlipError(), BlipError(), MORE, BlipError(), MORE], Pace(retry_first=1))

    assert waited == 1 + 2 + 1


def test_an_unknown_error_ends_the_loop() -> None:
    with pytest.raises(ValueError, match="bug"):
        run([ValueError("bug"), MORE], Pace())


def test_an_interrupt_ends_the_loop() -> None:
    def step() -> Found:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Loop("test", step, FakeClock(), lambda _: True).run()


def test_a_loop_that_was_told_nothing_survives_nothing() -> None:
    assert not never(BlipError())


def test_a_loop_that_is_stopped_takes_no_step() -> None:
    def step() -> Found:
        raise AssertionError("a step was taken")

    loop = Loop("test", step, FakeClock())
    loop.bell.stop()

    loop.run()


def test_a_stop_ends_the_wait() -> None:
    assert run([NOTHING], Pace(idle=5)) == 0


def test_a_failure_is_one_line_that_says_what_and_when_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run([BlipError("no database\n"), MORE], Pace(retry_first=1.5))

    (record,) = caplog.records
    assert record.getMessage() == "test: failed 1 times, next try in 1.5 s: no database"
    assert record.exc_info is None


@given(st.integers(1, 10**9), st.floats(0.001, 10), st.floats(10, 1000))
def test_the_wait_grows_up_to_its_limit_and_never_overflows(
    failures: int, first: float, longest: float
) -> None:
    pace = Pace(retry_first=first, retry_longest=longest)

    waits = [pace.retry_after(count) for count in (1, failures, failures + 1)]

    assert waits == sorted(waits)
    assert waits[0] == first
    assert waits[-1] <= longest


@given(st.integers(1, 10**9))
def test_no_wait_is_longer_than_the_idle_one(steps: int) -> None:
    assert Pace(idle=1).first <= Pace(idle=1).idle_after(steps) <= 1


def test_half_of_a_wait_after_a_failure_is_left_to_chance() -> None:
    pace = Pace(retry_first=4)

    assert [pace.retry_after(2, chance) for chance in (0, 0.5, 1)] == [4, 6, 8]


def test_what_failed_together_is_not_tried_again_together() -> None:
    def waited(seed: int) -> float:
        clock, bell = FakeClock(), Bell()

        def step() -> Found:
            if clock.monotonic() > 0:
                bell.stop()
                return MORE
            raise BlipError

        Loop("test", step, clock, is_blip, Pace(retry_first=4), bell, Random(seed)).run()
        return clock.monotonic()

    waits = {waited(seed) for seed in range(20)}
    assert len(waits) == 20
    assert all(2 <= wait <= 4 for wait in waits)


def test_it_tells_when_it_begins_a_step_and_for_how_long_it_rests() -> None:
    told: list[float] = []
    outcomes: list[Found | Exception] = [NOTHING, NOTHING, BlipError(), MORE, MORE]
    bell = Bell()

    def step() -> Found:
        outcome = outcomes.pop(0)
        if not outcomes:
            bell.stop()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    pace = Pace(first=1, idle=60, retry_first=9)
    Loop("test", step, FakeClock(), is_blip, pace, bell, Latest(), told.append).run()

    assert told == [0, 1, 0, 2, 0, 9, 0, 0]


def test_it_tells_nothing_while_a_step_hangs() -> None:
    """The probe of a service asks when the loop has last moved."""
    progress = LoopProgress(clock := FakeClock(), bound=10)
    stuck = []

    def step() -> Found:
        clock.advance(11)
        stuck.append(not progress.check().ok)
        loop.bell.stop()
        return MORE

    loop = Loop("test", step, clock, moved=progress.move)
    loop.run()

    assert stuck == [True]
