"""What is said of the deadlines of a run and of its task."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from headway.decide.explain.snapshot import DeadlineRow
from headway.decide.explain.wording import timed
from headway.domain.states import DeadlineState


def explain_deadlines(
    deadlines: Iterable[DeadlineRow], task_id: str, now: datetime
) -> Iterator[str]:
    """Say of each deadline of the run, and of the task, when it is or that it was missed."""
    for deadline in deadlines:
        if deadline.task_id not in {None, task_id}:
            continue
        what = "The run" if deadline.task_id is None else "The task"
        if deadline.state is DeadlineState.MISSED and deadline.due_at is not None:
            missed = timed(deadline.due_at, now)
            yield f"{what} has missed its deadline, {deadline.deadline}: {missed}."
        elif deadline.state is DeadlineState.OPEN and deadline.due_at is None:
            yield f"{what} has a deadline, {deadline.deadline}, which begins with the run."
        elif deadline.state is DeadlineState.OPEN and deadline.due_at is not None:
            yield f"{what} has a deadline, {deadline.deadline}: {timed(deadline.due_at, now)}."
