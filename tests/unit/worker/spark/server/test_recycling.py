"""When a server of the worker's own is replaced, stopped or killed."""

from dataclasses import replace

import pytest

from headway_worker.spark.server.recycling import (
    BESIDE_HEAP,
    RecyclingDecision,
    RecyclingLimits,
    ServerCondition,
    decide_recycling,
    memory_limit,
)

LIMITS = RecyclingLimits(max_attempts=10, memory_bytes=1000, idle_timeout=60, answer_timeout=30)
WELL = ServerCondition(
    alive=True, is_replaced=False, served=3, present=1, memory_bytes=500, unused=0, silent=0
)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, RecyclingDecision.STAY),
        ({"alive": False, "silent": 99}, RecyclingDecision.FORGET),
        ({"silent": 30}, RecyclingDecision.KILL),
        ({"silent": 29.9}, RecyclingDecision.STAY),
        ({"served": 10}, RecyclingDecision.REPLACE),
        ({"served": 9}, RecyclingDecision.STAY),
        ({"memory_bytes": 1001}, RecyclingDecision.REPLACE),
        ({"memory_bytes": 1000}, RecyclingDecision.STAY),
        ({"served": 10, "is_replaced": True}, RecyclingDecision.STAY),
        ({"served": 10, "is_replaced": True, "present": 0}, RecyclingDecision.STOP),
        ({"unused": 60}, RecyclingDecision.STAY),
        ({"unused": 60, "present": 0}, RecyclingDecision.STOP),
        ({"unused": 59.9, "present": 0}, RecyclingDecision.STAY),
        ({"unused": 60, "present": 0, "silent": 30}, RecyclingDecision.KILL),
    ],
)
def test_the_fate_of_a_server(change: dict[str, float], expected: RecyclingDecision) -> None:
    assert decide_recycling(replace(WELL, **change), LIMITS) is expected  # type: ignore[arg-type]


def test_zero_seconds_of_idleness_are_for_ever() -> None:
    idle = replace(WELL, present=0, unused=10**9)

    assert decide_recycling(idle, replace(LIMITS, idle_timeout=0)) is RecyclingDecision.STAY


@pytest.mark.parametrize(
    ("driver_memory", "heap"),
    [("1g", 2**30), ("512m", 2**29), ("2GB", 2**31), ("2048", 2**31), ("4t", 2**42), ("much", 0)],
)
def test_a_server_may_have_more_than_its_heap(driver_memory: str, heap: int) -> None:
    assert memory_limit(0, driver_memory) == heap + BESIDE_HEAP
    assert memory_limit(7, driver_memory) == 7
