"""How an attempt ended, from what its child said and how its process went."""

import signal
from dataclasses import dataclass
from typing import Final

from headway.db.attempts import Claimed, Report
from headway.domain.retry import after_attempt, after_loss
from headway.domain.spec import TaskSpec
from headway.domain.states import OnLost, Outcome
from headway.runtime.forker import Exit
from headway.sdk.execution import Result

CANCELLED: Final = Result(
    outcome=Outcome.CANCELLED,
    error="It was told to stop: a user asked for it, or its run had to end.",
)

LONGEST_ERROR = 4000
"""Characters of an error that are kept in the database; the log has it whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What a worker has seen of an attempt's end.

    `said` is the result that the child sent, if it did.  `timed_out`, `cancelled` and
    `handed_back` tell why the worker itself stopped it.
    """

    exit: Exit
    said: Result | None = None
    timed_out: bool = False
    cancelled: bool = False
    handed_back: bool = False


def conclude(ending: Ending, task: TaskSpec) -> Result:
    """Return the attempt's result.  A child's word counts, unless it was stopped before.

    A child that was told to stop may say that it has failed; that it was told is the reason.
    """
    if ending.timed_out:
        return Result(
            outcome=Outcome.TIMED_OUT,
            error="The task ran longer than its execution_timeout of "
            f"{task.execution_timeout:g} s, and was stopped.",
        )
    if ending.said is not None and not (ending.cancelled and ending.said.outcome is Outcome.FAILED):
        return ending.said
    if ending.cancelled:
        return CANCELLED
    if ending.handed_back:
        return Result(outcome=Outcome.LOST, error="The worker was stopped, and handed it back.")
    if ending.exit.lost is not None:
        return Result(outcome=Outcome.LOST, error=f"Its process was lost: {ending.exit.lost}")
    return Result(outcome=Outcome.FAILED, error=_explain(ending.exit))


def report_of(claimed: Claimed, task: TaskSpec, result: Result, *, began: bool = True) -> Report:
    """Return the report of an attempt's result, with what follows for its task.

    One that was lost before any code of it `began` is tried again, whatever its task says.
    """
    if result.outcome is Outcome.LOST:
        following = after_loss(claimed.losses + 1, task.on_lost if began else OnLost.RETRY)
    else:
        failures = claimed.failures + 1
        following = after_attempt(task, result.outcome, failures, may_retry=result.may_retry)
    return Report(
        key=claimed.key,
        outcome=result.outcome,
        following=following,
        error=_storable(result.error),
        skips=result.skip_tasks,
    )


def _explain(exit_status: Exit) -> str:
    if exit_status.signal is None:
        return (
            f"The task's process ended with exit code {exit_status.code} before the task was done; "
            "return from the function instead of leaving the process."
        )
    try:
        name = signal.Signals(exit_status.signal).name
    except ValueError:
        name = f"signal {exit_status.signal}"
    if exit_status.signal == signal.SIGKILL:
        return f"The task's process was killed by {name}; it may have run out of memory."
    return f"The task's process was killed by {name}."


def _storable(text: str | None) -> str | None:
    if text is None:
        return None
    clean = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return clean if len(clean) <= LONGEST_ERROR else f"{clean[:LONGEST_ERROR]} …"
