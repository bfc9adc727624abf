"""Many that are silent at once are judged with care."""

import pytest

from headway.decide.scheduling.lost import FEW, FollowedAttempt, is_storm, what_follows
from headway.domain.dag.retry import MOST_LOSSES, Next, after_loss
from headway.domain.states import OnLost, TaskState


@pytest.mark.parametrize("of", [0, 1, 5, FEW, 20, 1000])
def test_a_few_that_are_silent_are_dead(of: int) -> None:
    assert not any(is_storm(silent, of) for silent in range(min(of, FEW) + 1))


@pytest.mark.parametrize(("silent", "of"), [(11, 11), (11, 36), (31, 100), (301, 1000)])
def test_many_and_a_large_part_of_all_are_a_storm(silent: int, of: int) -> None:
    assert is_storm(silent, of)


@pytest.mark.parametrize(("silent", "of"), [(11, 37), (30, 100), (300, 1000)])
def test_many_that_are_a_small_part_of_all_are_dead(silent: int, of: int) -> None:
    assert not is_storm(silent, of)


@pytest.mark.parametrize("on_lost", OnLost)
@pytest.mark.parametrize("stop_to", [None, TaskState.SUCCESS, TaskState.NONE])
@pytest.mark.parametrize("losses", [1, MOST_LOSSES, MOST_LOSSES + 1])
def test_what_leaves_nothing_is_followed_as_any_loss(
    losses: int, stop_to: TaskState | None, on_lost: OnLost
) -> None:
    found = what_follows(losses, on_lost, leaves=False, stop_to=stop_to)

    assert found == after_loss(losses, on_lost)


@pytest.mark.parametrize(
    ("on_lost", "stop_to", "following"),
    [
        (OnLost.RETRY, None, None),
        (OnLost.FAIL, None, TaskState.FAILED),
        (OnLost.RETRY, TaskState.SUCCESS, TaskState.SUCCESS),
        (OnLost.FAIL, TaskState.NONE, TaskState.NONE),
    ],
)
def test_what_leaves_something_is_followed_in_its_place(
    on_lost: OnLost, stop_to: TaskState | None, following: TaskState | None
) -> None:
    for losses in (1, MOST_LOSSES):
        found = what_follows(losses, on_lost, leaves=True, stop_to=stop_to)
        assert found == FollowedAttempt(following)


@pytest.mark.parametrize("stop_to", [None, TaskState.SUCCESS])
def test_but_not_for_ever(stop_to: TaskState | None) -> None:
    losses = MOST_LOSSES + 1

    found = what_follows(losses, OnLost.RETRY, leaves=True, stop_to=stop_to)

    assert found == Next(TaskState.FAILED)
