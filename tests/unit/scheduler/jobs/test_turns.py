"""Whose turn it is at a pool."""

from threading import Event

from headway.testing.time.clock import FakeClock
from headway_scheduler.jobs.turns import LEAVE, Turns

MOST = 100


def turns() -> Turns:
    return Turns(FakeClock(), MOST)


def test_a_pool_is_left_to_others_for_a_moment_after_a_large_batch() -> None:
    mine = turns()

    assert mine.had("etl", MOST, jobs=2)
    assert mine.mine(["etl", "other"]) == ["other"]

    mine.clock.wait(Event(), LEAVE)
    assert mine.mine(["etl", "other"]) == ["etl", "other"]


def test_after_a_small_batch_there_is_nothing_to_leave() -> None:
    mine = turns()

    assert not mine.had("etl", MOST // 4 - 1, jobs=2)
    assert mine.mine(["etl"]) == ["etl"]


def test_whoever_is_alone_leaves_nothing() -> None:
    mine = turns()

    assert not mine.had("etl", MOST, jobs=1)
    assert mine.mine(["etl"]) == ["etl"]
