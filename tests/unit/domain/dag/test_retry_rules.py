from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.dag.retry import (
    LONGEST_WAIT,
    MOST_LOSSES,
    Next,
    after_attempt,
    after_loss,
    retry_delay,
)
from headway.domain.dag.spec import Jitter, TaskSpec
from headway.domain.states import OnLost, Outcome, TaskState

ATTEMPT = (7, 1)
FAILED = Next(TaskState.FAILED)
DAY = 24 * 3600.0


def task(
    retries: int = 2,
    delay: float = 10.0,
    *,
    exponential: bool = False,
    longest: float | None = None,
    jitter: Jitter | None = Jitter.NONE,
) -> TaskSpec:
    return TaskSpec(
        task_id="t",
        operator="empty",
        retries=retries,
        retry_delay=delay,
        retry_exponential_backoff=exponential,
        max_retry_delay=longest,
        retry_jitter=jitter,
    )


def again_after(seconds: float) -> Next:
    return Next(TaskState.UP_FOR_RETRY, timedelta(seconds=seconds))


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.TIMED_OUT])
@pytest.mark.parametrize(
    ("retries", "failures", "expected"),
    [
        (0, 1, FAILED),
        (1, 1, again_after(10)),
        (1, 2, FAILED),
        (2, 2, again_after(10)),
        (2, 3, FAILED),
    ],
)
def test_a_task_is_tried_once_more_for_each_retry(
    outcome: Outcome, retries: int, failures: int, expected: Next
) -> None:
    assert after_attempt(task(retries), ATTEMPT, outcome, failures) == expected


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Outcome.SUCCESS, TaskState.SUCCESS),
        (Outcome.SKIPPED, TaskState.SKIPPED),
        (Outcome.CANCELLED, TaskState.FAILED),
    ],
)
def test_what_ends_a_task_at_once_however_many_retries_it_has(
    outcome: Outcome, state: TaskState
) -> None:
    assert after_attempt(task(retries=5), ATTEMPT, outcome, 1) == Next(state)


@pytest.mark.parametrize("outcome", [Outcome.SUCCESS, Outcome.SKIPPED])
def test_a_good_end_stays_one_after_failures_beyond_all_retries(outcome: Outcome) -> None:
    following = after_attempt(task(retries=0), ATTEMPT, outcome, 9, may_retry=False)

    assert following.state.value == outcome.value


def test_a_task_that_forbids_it_is_not_tried_again() -> None:
    assert after_attempt(task(retries=5), ATTEMPT, Outcome.FAILED, 1, may_retry=False) == FAILED


@pytest.mark.parametrize(
    ("delay", "waits"), [(7.5, timedelta(seconds=7.5)), (0.0, timedelta(0)), (1e12, LONGEST_WAIT)]
)
def test_a_delay_of_the_attempt_replaces_that_of_the_task(delay: float, waits: timedelta) -> None:
    following = after_attempt(task(retries=5), ATTEMPT, Outcome.FAILED, 1, delay=delay)

    assert following == Next(TaskState.UP_FOR_RETRY, waits)
    assert after_attempt(task(retries=0), ATTEMPT, Outcome.FAILED, 1, delay=delay) == FAILED


def test_a_loss_is_tried_again_at_once_then_later_and_later_but_not_for_ever() -> None:
    delays = [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert [after_loss(n) for n in range(1, MOST_LOSSES + 1)] == [again_after(s) for s in delays]
    assert after_loss(MOST_LOSSES + 1) == FAILED


def test_a_task_may_have_it_that_a_loss_is_its_failure() -> None:
    assert after_loss(1, OnLost.FAIL) == FAILED
    assert after_loss(1, OnLost.RETRY) == after_loss(1)


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        (task(delay=10), [10, 10, 10]),
        (task(delay=10, longest=4), [4, 4, 4]),
        (task(delay=10, longest=60), [10, 10, 10]),
        (task(delay=10, exponential=True), [10, 20, 40, 80]),
        (task(delay=10, exponential=True, longest=25), [10, 20, 25, 25]),
        (task(delay=0, exponential=True), [0, 0, 0]),
        (task(delay=40_000, exponential=True), [40_000, 80_000, DAY, DAY]),
        (task(delay=40_000, exponential=True, longest=3 * DAY), [40_000, 80_000, 160_000]),
        (task(delay=2 * DAY), [2 * DAY, 2 * DAY]),
    ],
)
def test_how_long_a_task_waits(spec: TaskSpec, seconds: list[float]) -> None:
    assert waits(spec, len(seconds)) == seconds


def waits(spec: TaskSpec, times: int) -> list[float]:
    """The waits of a task in seconds, each attempt after the one before."""
    return [
        retry_delay(spec, (7, failures), failures).total_seconds()
        for failures in range(1, times + 1)
    ]


def test_a_delay_that_doubles_is_spread_over_its_second_half_and_no_other_is_spread() -> None:
    assert waits(task(exponential=True, jitter=None), 9) == waits(
        task(exponential=True, jitter=Jitter.EQUAL), 9
    )
    assert waits(task(jitter=None), 9) == [10.0] * 9


@pytest.mark.parametrize(("jitter", "least"), [(Jitter.EQUAL, 0.5), (Jitter.FULL, 0.0)])
def test_a_spread_delay_lies_between_its_bounds_and_differs_from_attempt_to_attempt(
    jitter: Jitter, least: float
) -> None:
    spec = task(delay=10, jitter=jitter)
    found = [retry_delay(spec, (number, 1), 1).total_seconds() for number in range(1000)]

    assert 10 * least <= min(found) < 10 * least + 0.5
    assert 9.5 < max(found) < 10
    assert len(set(found)) > 990
    assert 10 * (1 + least) / 2 == pytest.approx(sum(found) / 1000, rel=0.1)


@given(st.integers(1, 2**63 - 1), st.integers(1, 10**6), st.sampled_from(Jitter))
def test_the_same_attempt_gets_the_same_delay_whoever_asks(
    task_instance: int, number: int, jitter: Jitter
) -> None:
    spec, attempt = task(jitter=jitter, exponential=True), (task_instance, number)

    assert retry_delay(spec, attempt, number) == retry_delay(spec, attempt, number)


def test_a_delay_never_changes_from_release_to_release() -> None:
    """Replicas of two releases must agree while one replaces the other."""
    assert waits(task(delay=100, jitter=Jitter.FULL), 3) == [5.764119, 10.506635, 71.166251]


@given(st.floats(0, DAY), st.integers(1, 10**9), st.none() | st.floats(0, DAY))
def test_the_wait_never_shrinks_and_never_overflows(
    delay: float, failures: int, longest: float | None
) -> None:
    spec = task(delay=delay, exponential=True, longest=longest)

    found = [retry_delay(spec, ATTEMPT, count) for count in (1, failures, failures + 1)]

    assert found == sorted(found)
    assert found[-1] <= timedelta(seconds=DAY if longest is None else longest)


def test_no_delay_leads_to_a_date_that_the_database_cannot_store() -> None:
    longest = timedelta(days=3650)
    assert retry_delay(task(delay=1e13), ATTEMPT, 1) == longest
    assert retry_delay(task(delay=timedelta.max.total_seconds()), ATTEMPT, 1) == longest
