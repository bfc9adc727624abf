"""What is known of a task instance and its surroundings when it is to be explained."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headway.domain.dag.catchup import SkipReason
from headway.domain.dag.names import instance_name
from headway.domain.states import DeadlineState, Outcome, Phase, RunState, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class DagRow:
    """A DAG as it stands.

    Where it has no next run its timetable, which may fail for an error, is `asked_again_at` a
    time, unless it has ended.
    """

    dag_id: str
    relative_path: str
    active: bool
    paused: bool
    max_active_runs: int
    max_active_tasks: int
    planned: bool
    next_run_after: datetime | None
    next_interval_start: datetime | None
    next_run_below: int | None = None
    asked_again_at: datetime | None = None
    schedule_error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRow:
    """Intervals without a run of their own, and why; `run_id` is the run that covers them."""

    first_start: datetime
    end: datetime
    reason: SkipReason
    at: datetime
    run_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A DAG run as it stands; `lock_id` is the job that has reserved it.

    One that is not `pinned` cannot start before its DAG file was parsed, which was asked for
    at `parse_requested_at`.
    """

    id: int
    dag_id: str
    run_id: str
    state: RunState
    run_after: datetime
    version_id: int
    version: int
    backfill_id: int | None
    lock_id: int | None
    end_as: RunState | None
    pinned: bool = True
    parse_requested_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """A task instance as it stands."""

    id: int
    task_id: str
    map_index: int
    state: TaskState
    attempt: int
    failures: int
    losses: int
    pool: str
    pool_slots: int
    queue: str
    priority: int
    rank: float
    retry_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def name(self) -> str:
        """What to call it within its run."""
        return instance_name(self.task_id, self.map_index)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstancesRow:
    """How many instances of a task are in a state, and their least and greatest map index."""

    state: str
    instances: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """The last attempt of a task instance; `lease_until` is how long it is its worker's.

    `left` names what runs on a cluster for it, or for the one in whose place it is.
    """

    attempt: int
    phase: Phase
    outcome: Outcome | None
    error: str | None
    queued_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    process_id: int | None
    lease_until: datetime | None
    stop_to: TaskState | None
    left: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRunRow:
    """The last run that an attempt has asked for; None for its id and state before an answer.

    The attempt `waits` for its end, or goes on.
    """

    dag_id: str
    waits: bool
    answered: bool
    run_id: str | None
    state: RunState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRow:
    """A process that has not ended, and `silent` for how many seconds it has not been heard of.

    `slots` are a worker's, or the parallelism of a process that schedules; `busy` is how many
    attempts it has under way of those.  It is `alive` unless it was silent for too long.
    A worker that is `draining` takes no more.  `clock_skew` is by how many seconds its clock is
    ahead of the database's, where that is known; of a process whose `clock_is_wrong` that is
    so much that it schedules nothing.
    """

    id: int
    kind: str
    hostname: str
    pid: int
    slots: int
    busy: int
    silent: float
    alive: bool
    draining: bool = False
    clock_skew: float | None = None
    clock_is_wrong: bool = False

    @property
    def name(self) -> str:
        """What to call it in a sentence."""
        return f"{self.kind} {self.id} (pid {self.pid} on {self.hostname})"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineRow:
    """A deadline of the run, or of a task in it; not due at any time before the run starts."""

    task_id: str | None
    deadline: str
    due_at: datetime | None
    state: DeadlineState


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """An entry of the journal: who did what, and why if that was said."""

    at: datetime
    actor: str
    action: str
    reason: str | None
    problem: str | None


def alive(processes: Sequence[ProcessRow]) -> list[ProcessRow]:
    """Return the processes that have been heard of lately, and do their work."""
    return [process for process in processes if process.alive and not process.clock_is_wrong]
