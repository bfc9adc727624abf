"""When a server of the worker's own is replaced, stopped or killed."""

from dataclasses import replace

import pytest

from headway_worker.spark.wear import BESIDE_HEAP, Condition, Fate, Limits, fate, memory_limit

LIMITS = Limits(attempts=10, memory_bytes=1000, idle=60, silence=30)
WELL = Condition(
    alive=True, is_replaced=False, served=3, present=1, memory_bytes=500, unused=0, silent=0
)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, Fate.STAY),
        ({"alive": False, "silent": 99}, Fate.FORGET),
        ({"silent": 30}, Fate.KILL),
        ({"silent": 29.9}, Fate.STAY),
        ({"served": 10}, Fate.REPLACE),
        ({"served": 9}, Fate.STAY),
        ({"memory_bytes": 1001}, Fate.REPLACE),
        ({"memory_bytes": 1000}, Fate.STAY),
        ({"served": 10, "is_replaced": True}, Fate.STAY),
        ({"served": 10, "is_replaced": True, "present": 0}, Fate.STOP),
        ({"unused": 60}, Fate.STAY),
        ({"unused": 60, "present": 0}, Fate.STOP),
        ({"unused": 59.9, "present": 0}, Fate.STAY),
        ({"unused": 60, "present": 0, "silent": 30}, Fate.KILL),
    ],
)
def test_the_fate_of_a_server(change: dict[str, float], expected: Fate) -> None:
    assert fate(replace(WELL, **change), LIMITS) is expected  # type: ignore[arg-type]


def test_zero_seconds_of_idleness_are_for_ever() -> None:
    idle = replace(WELL, present=0, unused=10**9)

    assert fate(idle, replace(LIMITS, idle=0)) is Fate.STAY


@pytest.mark.parametrize(
    ("driver_memory", "heap"),
    [("1g", 2**30), ("512m", 2**29), ("2GB", 2**31), ("2048", 2**31), ("4t", 2**42), ("much", 0)],
)
def test_a_server_may_have_more_than_its_heap(driver_memory: str, heap: int) -> None:
    assert memory_limit(0, driver_memory) == heap + BESIDE_HEAP
    assert memory_limit(7, driver_memory) == 7
