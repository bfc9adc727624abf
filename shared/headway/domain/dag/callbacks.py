"""Callbacks: which events a DAG's own functions are called for, and what becomes of each call."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Final

from headway.domain.states import Outcome, RunState, TaskState

MOST_TRIES: Final = 3
"""How often a callback is begun, when the workers that have begun it die, before it is given up."""


class CallbackEvent(StrEnum):
    """What has happened to a task, or to a run (which only succeeds or fails)."""

    SUCCESS = "success"
    FAILURE = "failure"
    RETRY = "retry"
    SKIPPED = "skipped"


class RunReason(StrEnum):
    """Why a run has ended, as its callbacks are told."""

    SUCCESS = "success"
    TASK_FAILURE = "task_failure"
    TIMED_OUT = "timed_out"


_OF_STATE: Final[Mapping[TaskState, CallbackEvent]] = {
    TaskState.SUCCESS: CallbackEvent.SUCCESS,
    TaskState.FAILED: CallbackEvent.FAILURE,
    TaskState.UP_FOR_RETRY: CallbackEvent.RETRY,
    TaskState.SKIPPED: CallbackEvent.SKIPPED,
}


def task_event(
    having: Collection[CallbackEvent], outcome: Outcome, state: TaskState
) -> CallbackEvent | None:
    """Return the event for which functions of a task are to be called, if it has some for it.

    An attempt has ended with that outcome and has left the task in that state.  A task is
    skipped only by itself: one that was stopped for its run to end has no such event.
    """
    event = _OF_STATE.get(state)
    if event is CallbackEvent.SKIPPED and outcome is not Outcome.SKIPPED:
        return None
    return event if event in having else None


def run_event(
    having: Collection[CallbackEvent], ended: RunState, *, told: bool, timed_out: bool
) -> tuple[CallbackEvent, RunReason] | None:
    """Return the event for which a DAG's functions are to be called, and its reason.

    The scheduler has ended a run of it.  When it was `told` how, only its timeout is an event:
    otherwise a user has ended the run, who knows.
    """
    if told and not timed_out:
        return None
    event = CallbackEvent.SUCCESS if ended is RunState.SUCCESS else CallbackEvent.FAILURE
    if event not in having:
        return None
    if timed_out:
        return event, RunReason.TIMED_OUT
    return event, RunReason.SUCCESS if ended is RunState.SUCCESS else RunReason.TASK_FAILURE
