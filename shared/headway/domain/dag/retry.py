"""Retry: whether a task that did not succeed is tried again, and when.

A delay may be spread, so that what failed together is not tried again together.
"""

from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Final, TypeAlias

from headway.domain.dag.spec import Jitter, TaskSpec
from headway.domain.states import OnLost, Outcome, TaskState

AttemptNumber: TypeAlias = tuple[int, int]
"""A task instance, and the number of its attempt."""


_WIDE: Final = 2**64


def spread(seconds: float, jitter: Jitter, attempt: AttemptNumber) -> float:
    """Return a delay of at most so many seconds, and with `EQUAL` at least half of them.

    The same attempt always gets the same one, whoever asks.
    """
    match jitter:
        case Jitter.NONE:
            return seconds
        case Jitter.EQUAL:
            return seconds / 2 + seconds / 2 * _fraction(attempt)
        case Jitter.FULL:
            return seconds * _fraction(attempt)


def _fraction(attempt: AttemptNumber) -> float:
    """Return a number of [0, 1) that follows from the attempt, and from nothing else."""
    digest = sha256("{}-{}".format(*attempt).encode()).digest()
    return int.from_bytes(digest[:8]) / _WIDE


LONGEST_DELAY: Final = timedelta(hours=24)
"""Up to which the delay doubles, unless the task says otherwise."""


LONGEST_WAIT: Final = timedelta(days=3650)
"""What no delay exceeds: later dates have no place in the database."""


MOST_LOSSES: Final = 10
"""How often a task's attempts may be lost to workers that die or stop before it fails."""


LONGEST_LOSS_DELAY: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Next:
    """The state that a finished attempt leaves its task in; `delay` until it is tried again."""

    state: TaskState
    delay: timedelta | None = None

    @property
    def seconds(self) -> float | None:
        """The delay in seconds, for the database."""
        return None if self.delay is None else self.delay.total_seconds()


def after_attempt(
    task: TaskSpec,
    attempt: AttemptNumber,
    outcome: Outcome,
    failures: int,
    *,
    may_retry: bool = True,
    delay: float | None = None,
) -> Next:
    """Return what follows an attempt that ended with `outcome`.

    `delay`, in seconds, takes the place of the delay that the task's arguments say.
    `failures` counts the attempts that user code has failed, this one included;
    losses are counted apart and never use up a user's retries.
    """
    if outcome is Outcome.SUCCESS:
        return Next(TaskState.SUCCESS)
    if outcome is Outcome.SKIPPED:
        return Next(TaskState.SKIPPED)
    if outcome is Outcome.CANCELLED or not may_retry or failures > task.retries:
        return Next(TaskState.FAILED)
    if delay is not None:
        longest = LONGEST_WAIT.total_seconds()
        return Next(TaskState.UP_FOR_RETRY, timedelta(seconds=min(delay, longest)))
    return Next(TaskState.UP_FOR_RETRY, retry_delay(task, attempt, failures))


def after_loss(losses: int, on_lost: OnLost = OnLost.RETRY) -> Next:
    """Return what follows an attempt whose worker died or stopped; `losses` includes this one.

    Unless the task is to fail by it, it is tried again at once the first time, and later
    each time after that, so that a worker that cannot run anything does not use up all
    tries in a second.
    """
    if on_lost is OnLost.FAIL or losses > MOST_LOSSES:
        return Next(TaskState.FAILED)
    delay = timedelta(seconds=2.0 ** (losses - 2)) if losses > 1 else timedelta(0)
    return Next(TaskState.UP_FOR_RETRY, min(delay, LONGEST_LOSS_DELAY))


def retry_delay(task: TaskSpec, attempt: AttemptNumber, failures: int) -> timedelta:
    """Return the time to wait after that many failures: constant, or doubling each time.

    Then it is spread as the task says; by default one that doubles is, and no other.
    """
    longest = LONGEST_DELAY.total_seconds()
    if task.max_retry_delay is not None:
        longest = task.max_retry_delay
    seconds = task.retry_delay
    if task.retry_exponential_backoff:
        seconds = min(task.retry_delay * 2.0 ** min(failures - 1, 60), longest)
    elif task.max_retry_delay is not None:
        seconds = min(seconds, longest)
    by_default = Jitter.EQUAL if task.retry_exponential_backoff else Jitter.NONE
    seconds = spread(seconds, task.retry_jitter or by_default, attempt)
    return timedelta(seconds=min(seconds, LONGEST_WAIT.total_seconds()))
