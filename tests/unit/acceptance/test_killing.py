"""Whom the acceptance of backfills kills, and when."""

from pathlib import Path
from random import Random

from tests.acceptance.killing import BAG, LATEST, Killer

from headway.testing.services.machine import Machine


def killer(seed: int, kills: int) -> Killer:
    return Killer(Machine(Path("/nowhere"), {}), Random(seed), kills, lambda: 0.0)


def test_a_seed_is_a_plan() -> None:
    assert killer(7, 20).plan() == killer(7, 20).plan() != killer(8, 20).plan()


def test_each_kind_is_killed_well_before_the_end() -> None:
    for seed in range(50):
        plan = killer(seed, 10).plan()

        assert len(plan) == 10
        assert {kind for _, kind in plan[: len(BAG)]} == set(BAG)
        moments = [moment for moment, _ in plan]
        assert moments == sorted(moments)
        assert moments[-1] < LATEST


def test_in_peace_nobody_is_killed() -> None:
    assert killer(7, 0).plan() == []
