"""The critical path of a run: the chain of waiting and running that its length comes from.

It is followed backwards: from the task that ended last to the task that this one waited for the
longest, and so on up to the start of the run.  Its pieces follow each other without a gap.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain

from headway.domain.states import TaskState


class PieceKind(StrEnum):
    """What a piece of the path is spent with.

    `scheduling` is waiting for limits: for slots of a pool, a DAG's or a run's `max_active_…`, the
    schedulers' parallelism.  `queued` is waiting for a worker.  `retry` is the time between two
    attempts.  `running` is an attempt's own time.
    """

    SCHEDULING = "scheduling"
    QUEUED = "queued"
    RUNNING = "running"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class TimedAttempt:
    """When an attempt was queued, and when it started and ended, if it has."""

    attempt: int
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class TimedTask:
    """A task of a run with its attempts; of a mapped task, the instance that ends last.

    `upstream` are the tasks right above it.  `scheduled_at` is when its dependencies were met, the
    last time.  An instance that has ended without an attempt has an `ended_at` alone.
    """

    task_id: str
    map_index: int
    state: TaskState
    upstream: Sequence[str]
    pool: str
    queue: str
    scheduled_at: datetime | None
    ended_at: datetime | None
    attempts: Sequence[TimedAttempt]


@dataclass(frozen=True, slots=True)
class PathPiece:
    """A part of the critical path; it ends where the next one begins.

    `attempt` is the attempt that was waited for, or ran; None where none has been queued yet.
    """

    task_id: str
    map_index: int
    attempt: int | None
    kind: PieceKind
    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return (self.end - self.start).total_seconds()


def critical_path(
    tasks: Sequence[TimedTask], started_at: datetime, now: datetime
) -> list[PathPiece]:
    """Return the pieces of the critical path, the first one first; none if nothing has begun.

    What ended before the run started belongs to an earlier start of the run, and is left out.
    """
    ends = {
        task.task_id: end
        for task in tasks
        if (end := _end(task, now)) is not None and end > started_at
    }
    by_id = {task.task_id: task for task in tasks}
    found: list[list[PathPiece]] = []
    last = max(ends, key=lambda task_id: ends[task_id], default=None)
    until = now
    while last is not None:
        task = by_id[last]
        above = _waited_for(task, ends)
        until = min(until, ends[last])
        start = started_at if above is None else ends[above]
        found.append(_pieces(task, start, until))
        last = above
    return list(chain.from_iterable(reversed(found)))


def indexes_in_groups(tasks: Sequence[TimedTask], groups: Mapping[str, str]) -> dict[str, int]:
    """Return the map index of each task in a mapped group that the path leads through.

    It is that of the instance in the group that ends last; `groups` are those of the tasks.
    """
    last: dict[str, TimedTask] = {}
    for task in tasks:
        group = groups.get(task.task_id)
        if group is None or task.map_index < 0:
            continue
        other = last.setdefault(group, task)
        ended = other.ended_at
        if ended is not None and (task.ended_at is None or task.ended_at > ended):
            last[group] = task
    return {name: last[group].map_index for name, group in groups.items() if group in last}


def seconds_by_kind(pieces: Sequence[PathPiece]) -> Mapping[PieceKind, float]:
    """Return how long the path takes in all, by what it is spent with."""
    sums = dict.fromkeys(PieceKind, 0.0)
    for piece in pieces:
        sums[piece.kind] += piece.seconds
    return sums


def _end(task: TimedTask, now: datetime) -> datetime | None:
    """Return when a task ended, or now if it waits or runs; None if it has not come to that."""
    if task.ended_at is not None:
        return task.ended_at
    begun = bool(task.attempts) or task.state is TaskState.SCHEDULED
    return now if begun and task.state is not TaskState.NONE else None


def _waited_for(task: TimedTask, ends: Mapping[str, datetime]) -> str | None:
    """Return the upstream task that ended last before this one could begin."""
    if task.attempts:
        begun = task.attempts[-1].queued_at
    else:
        begun = task.scheduled_at or ends[task.task_id]
    above = [name for name in task.upstream if name in ends and ends[name] <= begun]
    return max(above, key=lambda name: ends[name], default=None)


def _pieces(task: TimedTask, start: datetime, end: datetime) -> list[PathPiece]:
    """Return the pieces of one task between two moments, without empty ones."""
    found: list[PathPiece] = []

    def add(kind: PieceKind, until: datetime | None, attempt: int | None) -> None:
        at = found[-1].end if found else start
        until = end if until is None else min(until, end)
        if until > at:
            found.append(PathPiece(task.task_id, task.map_index, attempt, kind, at, until))

    for tried in task.attempts:
        add(_waiting(found), tried.queued_at, tried.attempt)
        add(PieceKind.QUEUED, tried.started_at or tried.ended_at, tried.attempt)
        if tried.started_at is not None:
            add(PieceKind.RUNNING, tried.ended_at, tried.attempt)
    add(_waiting(found), end, None)
    return found


def _waiting(before: Sequence[PathPiece]) -> PieceKind:
    return PieceKind.RETRY if before else PieceKind.SCHEDULING
