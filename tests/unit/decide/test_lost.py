"""Many that are silent at once are judged with care."""

import pytest

from headway.decide.lost import FEW, is_storm


@pytest.mark.parametrize("of", [0, 1, 5, FEW, 20, 1000])
def test_a_few_that_are_silent_are_dead(of: int) -> None:
    assert not any(is_storm(silent, of) for silent in range(min(of, FEW) + 1))


@pytest.mark.parametrize(("silent", "of"), [(11, 11), (11, 36), (31, 100), (301, 1000)])
def test_many_and_a_large_part_of_all_are_a_storm(silent: int, of: int) -> None:
    assert is_storm(silent, of)


@pytest.mark.parametrize(("silent", "of"), [(11, 37), (30, 100), (300, 1000)])
def test_many_that_are_a_small_part_of_all_are_dead(silent: int, of: int) -> None:
    assert not is_storm(silent, of)
