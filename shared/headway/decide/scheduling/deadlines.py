"""Judge deadlines: whether what they are of has ended in time, once they are over."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from headway.domain.states import DeadlineState

PATIENCE: Final = timedelta(seconds=1)
"""How long after a deadline it is judged: what ends just in time is stored by then."""

SHORTEST_LOOK: Final = 15.0
"""Seconds after which, at the earliest, it is looked again whether a run has started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDeadline:
    """A deadline that is not judged yet, and what it is of: a run, or a task of it.

    It is `known` to the version that the run has.  Without `due_at` it is counted from the
    start of the run, so many `seconds`.  `ended_at` is when the run, or the last instance of the
    task, has ended; None if it has not.
    """

    id: int
    dag_run_id: int
    dag_id: str
    run_id: str
    task_id: str | None
    name: str
    known: bool
    seconds: float
    due_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What becomes of a deadline; one that stays open is looked at again at `check_at`."""

    of: OpenDeadline
    state: DeadlineState
    due_at: datetime | None
    check_at: datetime


def judge(deadline: OpenDeadline, now: datetime) -> Judgement:
    """Decide whether a deadline was met or missed, or when to look at it again.

    One that is counted from the start is looked at as often as it could be over: a run that has
    not started by now cannot be late earlier than that many seconds from now.  While it is open it
    gets no `due_at`: a run that is cleared starts anew, and it with it.
    """
    if not deadline.known:
        return Judgement(deadline, DeadlineState.WITHDRAWN, deadline.due_at, now)
    due_at = deadline.due_at
    if due_at is None and deadline.started_at is not None:
        due_at = deadline.started_at + timedelta(seconds=deadline.seconds)
    if due_at is None:
        return _not_started(deadline, now)
    if now < due_at + PATIENCE:
        return Judgement(deadline, DeadlineState.OPEN, deadline.due_at, due_at + PATIENCE)
    in_time = deadline.ended_at is not None and deadline.ended_at <= due_at
    return Judgement(deadline, DeadlineState.MET if in_time else DeadlineState.MISSED, due_at, now)


def _not_started(deadline: OpenDeadline, now: datetime) -> Judgement:
    """Decide about a run that has not started; one that was ended all the same is in time."""
    if deadline.ended_at is not None:
        return Judgement(deadline, DeadlineState.MET, None, now)
    wait = timedelta(seconds=max(deadline.seconds, SHORTEST_LOOK))
    return Judgement(deadline, DeadlineState.OPEN, None, now + wait)


def of_task(deadline: OpenDeadline, task_ended_at: datetime | None) -> OpenDeadline:
    """Return a task's deadline with the end of the task: with its run it has ended, too."""
    ends = [at for at in (deadline.ended_at, task_ended_at) if at is not None]
    return replace(deadline, ended_at=min(ends, default=None))
