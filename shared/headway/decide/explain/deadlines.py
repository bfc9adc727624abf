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
    for it in deadlines:
        if it.task_id not in {None, task_id}:
            continue
        what = "The run" if it.task_id is None else "The task"
        if it.state is DeadlineState.MISSED and it.due_at is not None:
            yield f"{what} has missed its deadline, {it.deadline}: {timed(it.due_at, now)}."
        elif it.state is DeadlineState.OPEN and it.due_at is None:
            yield f"{what} has a deadline, {it.deadline}, which begins with the run."
        elif it.state is DeadlineState.OPEN and it.due_at is not None:
            yield f"{what} has a deadline, {it.deadline}: {timed(it.due_at, now)}."
