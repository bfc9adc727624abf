"""Notifiers: who is told by a message of what has happened to runs and tasks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from headway.domain.dag.callbacks import CallbackEvent

MOST_SENDS: Final = 12
"""How often it is tried to send a message, before it counts as failed."""

FIRST_WAIT: Final = 10.0
LONGEST_WAIT: Final = 3600.0
"""Seconds to wait after the first try that has failed, and at most; each wait doubles the last."""

MOST_TOLD: Final = 20
"""Events that a message names, of however many it tells."""


class NotifyEvent(StrEnum):
    """What a notifier tells of.

    Given to a task, the first three are the task's; given to a DAG, they are its runs', and
    those of its tasks have names of their own.  Deadlines of a DAG are also its tasks'.
    """

    FAILURE = "failure"
    SUCCESS = "success"
    RETRY = "retry"
    MISSED_DEADLINE = "missed_deadline"
    TASK_FAILURE = "task_failure"
    TASK_SUCCESS = "task_success"
    TASK_RETRY = "task_retry"


OF_TASKS: Final[Mapping[NotifyEvent, NotifyEvent]] = {
    NotifyEvent.TASK_FAILURE: NotifyEvent.FAILURE,
    NotifyEvent.TASK_SUCCESS: NotifyEvent.SUCCESS,
    NotifyEvent.TASK_RETRY: NotifyEvent.RETRY,
}
"""Events of a DAG's tasks, and what a notifier of the task itself calls them."""

USUAL: Final = (NotifyEvent.FAILURE, NotifyEvent.MISSED_DEADLINE)

_CALLBACKS: Final[Mapping[NotifyEvent, CallbackEvent]] = {
    NotifyEvent.FAILURE: CallbackEvent.FAILURE,
    NotifyEvent.SUCCESS: CallbackEvent.SUCCESS,
    NotifyEvent.RETRY: CallbackEvent.RETRY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierSpec:
    """A notifier: the connection that tells how to reach whom, and what to tell of.

    `subject` and `body` are templates, `to` are addresses instead of those of the connection.
    """

    connection: str
    on: tuple[NotifyEvent, ...] = USUAL
    subject: str | None = None
    body: str | None = None
    to: tuple[str, ...] = ()


def of_tasks(given: Iterable[NotifierSpec]) -> tuple[NotifierSpec, ...]:
    """Return a DAG's notifiers as far as they are about each of its tasks, as a task's own."""
    found = []
    for notifier in given:
        on = tuple(OF_TASKS[event] for event in notifier.on if event in OF_TASKS)
        if on:
            found.append(replace(notifier, on=on))
    return tuple(found)


def ends(given: Iterable[NotifierSpec]) -> tuple[CallbackEvent, ...]:
    """Return the ends of attempts, or of runs, of which these notifiers tell."""
    told = {event for notifier in given for event in notifier.on}
    return tuple(sorted(_CALLBACKS[event] for event in told if event in _CALLBACKS))


def wait_after(tries: int) -> float:
    """Return the seconds until the next try to send a message, after so many."""
    return float(min(FIRST_WAIT * 2 ** (tries - 1), LONGEST_WAIT))
