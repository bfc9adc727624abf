"""Faults take turns in their series, by a seed, and count only if their effect was seen."""

from collections import Counter
from random import Random

from tests.chaos.fault_series import FaultSeries, Steps, Timer

from headway.testing.time.clock import FakeClock


def fault(seen: bool, seconds: float, timer: Timer) -> Steps:
    yield from timer.wait(seconds)
    return seen


def series(seed: int) -> tuple[FaultSeries, FakeClock]:
    clock = FakeClock()
    timer = Timer(clock)
    faults = [
        ("works", lambda: fault(True, 3, timer)),
        ("misses", lambda: fault(False, 3, timer)),
    ]
    return FaultSeries(timer, Random(seed), faults), clock


def order(seed: int, faults: int) -> list[str]:
    it, clock = series(seed)
    names = []
    while sum((it.done + it.missed).values()) < faults:
        begun = it.busy
        it.step()
        if not begun:
            names.append(it.current)
        clock.advance(0.5)
    return names


def test_all_kinds_come_equally_often_in_an_order_of_the_seed() -> None:
    first = order(seed=1, faults=20)

    assert Counter(first[:20]) == {"works": 10, "misses": 10}
    assert order(seed=1, faults=20) == first
    assert order(seed=2, faults=20) != first


def test_only_a_fault_whose_effect_was_seen_is_done() -> None:
    it, clock = series(seed=1)
    for _ in range(200):
        it.step()
        clock.advance(0.5)

    assert it.done["works"] > 5
    assert it.missed["misses"] > 5
    assert set(it.done) == {"works"}


def test_the_end_finishes_what_is_in_progress_and_begins_nothing() -> None:
    it, clock = series(seed=1)
    it.step()
    while it.busy:
        it.finish()
        clock.advance(0.5)
    it.finish()

    assert sum((it.done + it.missed).values()) == 1


def test_a_fault_gives_up_waiting_when_its_patience_ends() -> None:
    clock = FakeClock()
    timer = Timer(clock)
    it = FaultSeries(timer, Random(1), [("waits", lambda: timer.until(lambda: False, 5))])
    while not it.missed:
        it.step()
        clock.advance(1)

    assert 5 < clock.monotonic() < 12
