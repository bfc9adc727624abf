"""States, and who may move what.

At a handover to another process only certain states may be set by each process.
The table below is the one place that says so.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final


class RunType(StrEnum):
    """What a DAG run was created by."""

    SCHEDULED = "scheduled"
    MANUAL = "manual"
    BACKFILL = "backfill"

    def run_id(self, start: datetime, end: datetime | None = None) -> str:
        """Return what a run is called: its type, and the start of its interval.

        With the `end` as well where another run, of another schedule, has the short name.
        """
        short = f"{self}__{start.isoformat()}"
        return short if end is None else f"{short}__{end.isoformat()}"


class RunState(StrEnum):
    """The states of a DAG run."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"


class TaskState(StrEnum):
    """The states of a task instance."""

    NONE = "none"
    SCHEDULED = "scheduled"
    QUEUED = "queued"
    RUNNING = "running"
    RESTARTING = "restarting"
    DEFERRED = "deferred"
    UP_FOR_RETRY = "up_for_retry"
    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"
    UPSTREAM_FAILED = "upstream_failed"
    REMOVED = "removed"


class Phase(StrEnum):
    """The phases of a task attempt."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


class Outcome(StrEnum):
    """How a task attempt ended."""

    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    CANCELLED = "cancelled"


class CallbackState(StrEnum):
    """The states of a callback: of the work that calls a DAG's functions for one event."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"


class DeadlineState(StrEnum):
    """The states of a deadline of a run, or of a task of it."""

    OPEN = "open"
    MET = "met"
    MISSED = "missed"
    WITHDRAWN = "withdrawn"


class OnLost(StrEnum):
    """What follows when the worker of a task's attempt dies: another attempt, or failure."""

    RETRY = "retry"
    FAIL = "fail"


class Role(StrEnum):
    """Who moves a task instance."""

    SCHEDULER = "scheduler"
    WORKER = "worker"
    USER = "user"


_S = TaskState
_SCHEDULER = frozenset({Role.SCHEDULER})
_WORKER = frozenset({Role.WORKER})
_USER = frozenset({Role.USER})
_RESET = _SCHEDULER | _USER

MOVES: Final[Mapping[TaskState, Mapping[TaskState, frozenset[Role]]]] = {
    _S.NONE: {
        _S.SCHEDULED: _SCHEDULER,
        _S.SKIPPED: _SCHEDULER | _USER,
        _S.UPSTREAM_FAILED: _SCHEDULER,
        _S.REMOVED: _SCHEDULER | _USER,
        _S.SUCCESS: _USER,
        _S.FAILED: _SCHEDULER | _USER,
    },
    _S.SCHEDULED: {
        _S.QUEUED: _SCHEDULER,
        _S.SKIPPED: _SCHEDULER | _USER,
        _S.FAILED: _SCHEDULER | _USER,
        _S.SUCCESS: _USER,
        _S.NONE: _USER,
        _S.REMOVED: _USER,
    },
    _S.QUEUED: {
        _S.RUNNING: _WORKER,
        _S.RESTARTING: _WORKER,  # its attempt only ends what earlier ones have left
        _S.SCHEDULED: _SCHEDULER,
        _S.SKIPPED: _SCHEDULER | _USER,
        _S.FAILED: _SCHEDULER | _USER,
        _S.SUCCESS: _USER,
        _S.NONE: _USER,
        _S.REMOVED: _USER,
    },
    # A user has a running attempt told to stop; the task moves when the attempt has ended.
    # One that is lost and has left something on a cluster is followed by another at once.
    _S.RUNNING: {
        _S.SUCCESS: _WORKER | _SCHEDULER,
        _S.FAILED: _WORKER | _SCHEDULER,
        _S.SKIPPED: _WORKER | _SCHEDULER,
        _S.UP_FOR_RETRY: _WORKER | _SCHEDULER,
        _S.DEFERRED: _WORKER,
        _S.RESTARTING: _USER,
        _S.QUEUED: _SCHEDULER,
    },
    _S.RESTARTING: {
        _S.QUEUED: _SCHEDULER,
        _S.NONE: _WORKER | _SCHEDULER,
        _S.SUCCESS: _WORKER | _SCHEDULER,
        _S.FAILED: _WORKER | _SCHEDULER,
        _S.SKIPPED: _WORKER | _SCHEDULER,
    },
    _S.DEFERRED: {
        _S.SCHEDULED: _SCHEDULER,
        _S.SKIPPED: _SCHEDULER | _USER,
        _S.FAILED: _SCHEDULER | _USER,
        _S.SUCCESS: _USER,
        _S.NONE: _USER,
        _S.REMOVED: _USER,
    },
    _S.UP_FOR_RETRY: {
        _S.SCHEDULED: _SCHEDULER,
        _S.SKIPPED: _SCHEDULER | _USER,
        _S.FAILED: _SCHEDULER | _USER,
        _S.SUCCESS: _USER,
        _S.NONE: _USER,
        _S.REMOVED: _USER,
    },
    # What is removed, and what comes back, does so with the version that a run is given.  A
    # scheduler has a run run again when a task asks for that (reset_dag_run).
    _S.SUCCESS: {_S.NONE: _RESET, _S.FAILED: _USER, _S.REMOVED: _USER},
    _S.FAILED: {_S.NONE: _RESET, _S.SUCCESS: _USER, _S.REMOVED: _USER},
    _S.SKIPPED: {_S.NONE: _RESET, _S.SUCCESS: _USER, _S.FAILED: _USER, _S.REMOVED: _USER},
    _S.UPSTREAM_FAILED: {_S.NONE: _RESET, _S.SUCCESS: _USER, _S.FAILED: _USER, _S.REMOVED: _USER},
    _S.REMOVED: {_S.NONE: _RESET},
}

INITIAL: Final = frozenset({_S.NONE, _S.SCHEDULED})
"""States in which the scheduler creates task instances."""

RUN_MOVES: Final[Mapping[RunState, Mapping[RunState, frozenset[Role]]]] = {
    RunState.QUEUED: {
        RunState.RUNNING: _SCHEDULER,
        RunState.SUCCESS: _USER,
        RunState.FAILED: _SCHEDULER | _USER,  # one that takes its place is due
    },
    RunState.RUNNING: {RunState.SUCCESS: _SCHEDULER, RunState.FAILED: _SCHEDULER},
    RunState.SUCCESS: {RunState.QUEUED: _RESET, RunState.FAILED: _USER},
    RunState.FAILED: {RunState.QUEUED: _RESET, RunState.SUCCESS: _USER},
}

PHASE_MOVES: Final[Mapping[Phase, Mapping[Phase, frozenset[Role]]]] = {
    Phase.QUEUED: {
        Phase.RUNNING: _WORKER,
        Phase.STOPPING: _WORKER,
        Phase.ENDED: _SCHEDULER | _USER,
    },
    Phase.RUNNING: {Phase.STOPPING: _SCHEDULER | _USER, Phase.ENDED: _WORKER | _SCHEDULER},
    Phase.STOPPING: {Phase.ENDED: _WORKER | _SCHEDULER},
    Phase.ENDED: {},
}

# One that its worker hands back is queued again; one whose worker dies is claimed as it is.
CALLBACK_MOVES: Final[Mapping[CallbackState, Mapping[CallbackState, frozenset[Role]]]] = {
    CallbackState.QUEUED: {CallbackState.RUNNING: _WORKER},
    CallbackState.RUNNING: {
        CallbackState.QUEUED: _WORKER,
        CallbackState.SUCCESS: _WORKER,
        CallbackState.FAILED: _WORKER,
    },
    CallbackState.SUCCESS: {},
    CallbackState.FAILED: {},
}

# One is judged once; it is withdrawn when the run was given a version that does not have it.
DEADLINE_MOVES: Final[Mapping[DeadlineState, Mapping[DeadlineState, frozenset[Role]]]] = {
    DeadlineState.OPEN: {
        DeadlineState.MET: _SCHEDULER,
        DeadlineState.MISSED: _SCHEDULER,
        DeadlineState.WITHDRAWN: _SCHEDULER,
    },
    DeadlineState.MET: {},
    DeadlineState.MISSED: {},
    DeadlineState.WITHDRAWN: {},
}

TERMINAL: Final = frozenset({_S.SUCCESS, _S.FAILED, _S.SKIPPED, _S.UPSTREAM_FAILED, _S.REMOVED})
"""States in which a task instance stays until a user, or a task's request, moves it."""

HOLDS_SLOTS: Final = frozenset({_S.QUEUED, _S.RUNNING, _S.RESTARTING})
"""States in which a task instance occupies its pool slots and its place in the DAG."""

STOP_TARGETS: Final = frozenset({_S.NONE, _S.SUCCESS, _S.FAILED, _S.SKIPPED})
"""What the task of an attempt that was told to stop becomes when the attempt has ended."""

UNFINISHED_RUN: Final = frozenset({RunState.QUEUED, RunState.RUNNING})


def sources(target: TaskState, role: Role) -> list[str]:
    """Return the states from which `role` may move a task to `target`, for an SQL guard."""
    return sorted(state for state, moves in MOVES.items() if role in moves.get(target, ()))
