"""Retry: whether a task that did not succeed is tried again, and when."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from headway.domain.spec import TaskSpec
from headway.domain.states import Outcome, TaskState

LONGEST_DELAY: Final = timedelta(hours=24)
MOST_LOSSES: Final = 10
"""How often an attempt may be lost to a dead worker before its task fails."""


@dataclass(frozen=True, slots=True)
class Next:
    """The state that a finished attempt leaves its task in; `delay` until it is tried again."""

    state: TaskState
    delay: timedelta | None = None


def after_attempt(
    task: TaskSpec, outcome: Outcome, failures: int, *, may_retry: bool = True
) -> Next:
    """Return what follows an attempt that ended with `outcome`.

    `failures` counts the attempts that user code has failed, this one included;
    losses are counted apart and never use up a user's retries.
    """
    if outcome is Outcome.SUCCESS:
        return Next(TaskState.SUCCESS)
    if outcome is Outcome.SKIPPED:
        return Next(TaskState.SKIPPED)
    if outcome is Outcome.CANCELLED or not may_retry or failures > task.retries:
        return Next(TaskState.FAILED)
    return Next(TaskState.UP_FOR_RETRY, retry_delay(task, failures))


def after_loss(losses: int) -> Next:
    """Return what follows an attempt whose worker died; `losses` includes this one."""
    if losses > MOST_LOSSES:
        return Next(TaskState.FAILED)
    return Next(TaskState.UP_FOR_RETRY, timedelta(0))


def retry_delay(task: TaskSpec, failures: int) -> timedelta:
    """Return the time to wait after that many failures: constant, or doubling each time."""
    longest = LONGEST_DELAY.total_seconds()
    if task.max_retry_delay is not None:
        longest = task.max_retry_delay
    seconds = task.retry_delay
    if task.retry_exponential_backoff:
        seconds = min(task.retry_delay * 2.0 ** min(failures - 1, 60), longest)
    elif task.max_retry_delay is not None:
        seconds = min(seconds, longest)
    return timedelta(seconds=seconds)
