"""States of task instances as Airflow's clients know them."""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from headway.domain.errors import RequestError
from headway.domain.states import Outcome, Phase, RunState, TaskState

Kind = TypeVar("Kind", TaskState, RunState)

_NO_STATE: Final = frozenset({"none", "no_status"})
_OF_AIRFLOW_ALONE: Final = frozenset({"up_for_reschedule", "awaiting_input"})

_OUTCOMES: Final = {
    Outcome.SUCCESS: TaskState.SUCCESS,
    Outcome.SKIPPED: TaskState.SKIPPED,
}
_PHASES: Final = {Phase.QUEUED: TaskState.QUEUED, Phase.RUNNING: TaskState.RUNNING}


def state_of(state: TaskState) -> str | None:
    """Return the state of a task instance: None before anything is decided."""
    return None if state is TaskState.NONE else str(state)


def state_of_attempt(phase: Phase, outcome: Outcome | None) -> str:
    """Return the state of an attempt: one that was lost, stopped or timed out has failed."""
    if outcome is not None:
        return _OUTCOMES.get(outcome, TaskState.FAILED)
    return _PHASES.get(phase, TaskState.RESTARTING)


def task_states(given: Sequence[str | None]) -> list[TaskState] | None:
    """Return the states that are wanted, None for any; RequestError for one that there is not.

    No task instance here is in a state that Airflow alone has.
    """
    if not given:
        return None
    known: list[TaskState] = []
    for name in given:
        if name is None or name in _NO_STATE:
            known.append(TaskState.NONE)
        elif name not in _OF_AIRFLOW_ALONE:
            known.append(_known(name, TaskState))
    return known


def run_states(given: Iterable[str | None]) -> list[RunState] | None:
    """Return the states that are wanted, None for any; RequestError for one that there is not."""
    found = [_known(name or "", RunState) for name in given]
    return found or None


def _known(name: str, kind: type[Kind]) -> Kind:
    try:
        return kind(name)
    except ValueError:
        states = ", ".join(kind)
        raise RequestError(f"There is no state {name[:60]!r}; there are {states}.") from None
