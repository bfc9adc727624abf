"""How an attempt ended, from what its child said and how its process went."""

import signal
from dataclasses import dataclass, replace
from typing import Final

from headway.db.execution.attempts import Claimed, Report
from headway.domain.dag.retry import after_attempt, after_loss
from headway.domain.dag.spec import TaskSpec
from headway.domain.spark_work import outliving
from headway.domain.states import OnLost, Outcome
from headway.runtime.forker import Exit
from headway.runtime.masking import Masker
from headway.sdk.exceptions import AirflowTaskTerminated, AirflowTaskTimeout
from headway.sdk.harness.execution import Result
from headway.sdk.values.retrying import may_retry

CANCELLED: Final = Result(
    outcome=Outcome.CANCELLED,
    error="It was told to stop.",
)

HANDED_BACK: Final = Result(
    outcome=Outcome.LOST, error="The worker was stopped, and handed it back."
)

_NOTHING_LEFT: Final = Result(
    outcome=Outcome.CANCELLED,
    error="It was only to end what an earlier attempt had left on a cluster, which has ended.",
)

LONGEST_ERROR = 4000
"""Characters of an error that are kept in the database; the log has it whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnd:
    """What a worker has seen of an attempt's end.

    `said` is the result that the child sent, if it did.  `timed_out`, `cancelled` and
    `handed_back` tell why the worker itself stopped it, as does `stopped_for`: a sentence.
    `outlived_by` names an application on a cluster that a child which says nothing any more
    has not seen to its end.
    """

    exit: Exit
    said: Result | None = None
    timed_out: bool = False
    cancelled: bool = False
    handed_back: bool = False
    stopped_for: str | None = None
    outlived_by: str | None = None


def conclude(ending: ProcessEnd, task: TaskSpec, *, called_off: bool = False) -> Result:
    """Return the attempt's result.  A child's word counts, unless it was stopped before.

    For what its task retries, one that ran too long, or whose process ended, counts as having
    raised AirflowTaskTimeout or AirflowTaskTerminated; one that is lost has raised nothing.

    A child that was told to stop may say that it has failed; that it was told is the reason,
    whether a user wanted it or its worker ends.  One that was `called_off` before it began was
    there for nothing but to end what earlier ones have left.
    """
    if called_off:
        return _called_off(ending)
    if ending.timed_out:
        return Result(
            outcome=Outcome.TIMED_OUT,
            error="The task ran longer than its execution_timeout of "
            f"{task.execution_timeout:g} s, and was stopped.{_what_is_left(ending)}",
            may_retry=may_retry(task, AirflowTaskTimeout),
        )
    told_to_stop = ending.cancelled or ending.handed_back
    if ending.said is not None and not (told_to_stop and ending.said.outcome is Outcome.FAILED):
        return ending.said
    if told_to_stop:
        return _stopped(ending)
    if ending.exit.lost is not None:
        return Result(outcome=Outcome.LOST, error=f"Its process was lost: {ending.exit.lost}")
    return Result(
        outcome=Outcome.FAILED,
        error=f"{ending.stopped_for or explain(ending.exit)}{_what_is_left(ending)}",
        may_retry=may_retry(task, AirflowTaskTerminated),
    )


def _called_off(ending: ProcessEnd) -> Result:
    if ending.outlived_by is None:
        return _NOTHING_LEFT
    if ending.timed_out or ending.handed_back or ending.said is None or ending.said.error is None:
        return _not_in_time(ending)
    return Result(outcome=Outcome.LOST, error=ending.said.error)


def _stopped(ending: ProcessEnd) -> Result:
    if not ending.cancelled:
        return HANDED_BACK
    return CANCELLED if ending.outlived_by is None else _not_in_time(ending)


def _not_in_time(ending: ProcessEnd) -> Result:
    return Result(
        outcome=Outcome.LOST, error=f"It was not seen in time that {ending.outlived_by} has ended."
    )


def _what_is_left(ending: ProcessEnd) -> str:
    if ending.said is not None or ending.outlived_by is None:
        return ""
    return (
        f" The cluster has not told in time that {ending.outlived_by} has ended: it may still run. "
        "The next attempt asks again."
    )


def masked(result: Result, masker: Masker) -> Result:
    """Return the result without secrets: its error goes to the database."""
    error, traceback = (
        None if text is None else masker.mask(text) for text in (result.error, result.traceback)
    )
    return replace(result, error=error, traceback=traceback)


def report_of(
    claimed: Claimed,
    task: TaskSpec,
    result: Result,
    *,
    began: bool = True,
    left: str | None = None,
) -> Report:
    """Return the report of an attempt's result, with what follows for its task.

    One that was lost before any code of it `began` is tried again, whatever its task says, and
    leaves what it was to mind.  `left` names what one that began has left on a cluster.
    """
    if not began:
        left = outliving(claimed.handle)
    if result.outcome is Outcome.LOST:
        again = not began or left is not None  # the scheduler decides how it is followed
        following = after_loss(claimed.losses + 1, OnLost.RETRY if again else task.on_lost)
    else:
        failures = claimed.failures + 1
        number = claimed.key.task_instance_id, claimed.key.attempt
        following = after_attempt(
            task,
            number,
            result.outcome,
            failures,
            may_retry=result.may_retry,
            delay=result.retry_delay,
        )
    return Report(
        key=claimed.key,
        outcome=result.outcome,
        following=following,
        error=storable(result.error),
        skips=result.skip_tasks,
        callbacks=task.callbacks,
        notifies=task.notifies,
        left=left if result.outcome is Outcome.LOST else None,
    )


def explain(exit_status: Exit, what: str = "task") -> str:
    """Return how the process of a task, or of something else, has ended that was not done."""
    if exit_status.exceeded is not None:
        return (
            f"The {what} had more than {exit_status.exceeded}, and was killed with all that it had "
            "started. The limits are HEADWAY_WORKER_MAX_ATTEMPT_*."
        )
    if exit_status.signal is None:
        return (
            f"The {what}'s process ended with exit code {exit_status.code} before the {what} was "
            "done; return from the function instead of leaving the process."
        )
    try:
        name = signal.Signals(exit_status.signal).name
    except ValueError:
        name = f"signal {exit_status.signal}"
    if exit_status.signal == signal.SIGKILL:
        return f"The {what}'s process was killed by {name}{_for_memory(exit_status.oom_kills)}"
    return f"The {what}'s process was killed by {name}."


def _for_memory(oom_kills: int | None) -> str:
    match oom_kills:
        case None:
            return "; it may have run out of memory."
        case 0:
            return ". The kernel has killed nothing here for want of memory: somebody has sent it."
    return (
        f": memory ran out, and the kernel killed {oom_kills} of the processes here (oom_kill in "
        "the memory cgroup). Give the task, or its worker, more memory."
    )


def storable(text: str | None) -> str | None:
    """Return an error in a form, and of a length, that the database takes."""
    if text is None:
        return None
    clean = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return clean if len(clean) <= LONGEST_ERROR else f"{clean[:LONGEST_ERROR]} …"
