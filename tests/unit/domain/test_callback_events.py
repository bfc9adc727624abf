"""Which ends of attempts and runs are events that a DAG's functions are called for."""

from itertools import product

import pytest

from headway.domain.dag.callbacks import CallbackEvent, RunReason, run_event, task_event
from headway.domain.states import CALLBACK_MOVES, CallbackState, Outcome, RunState, TaskState

ALL = tuple(CallbackEvent)
EVENTS = {
    (Outcome.SUCCESS, TaskState.SUCCESS): CallbackEvent.SUCCESS,
    (Outcome.FAILED, TaskState.FAILED): CallbackEvent.FAILURE,
    (Outcome.TIMED_OUT, TaskState.FAILED): CallbackEvent.FAILURE,
    (Outcome.LOST, TaskState.FAILED): CallbackEvent.FAILURE,
    (Outcome.FAILED, TaskState.UP_FOR_RETRY): CallbackEvent.RETRY,
    (Outcome.LOST, TaskState.UP_FOR_RETRY): CallbackEvent.RETRY,
    (Outcome.SKIPPED, TaskState.SKIPPED): CallbackEvent.SKIPPED,
    # A user has marked it while it ran.
    (Outcome.CANCELLED, TaskState.SUCCESS): CallbackEvent.SUCCESS,
    (Outcome.CANCELLED, TaskState.FAILED): CallbackEvent.FAILURE,
    (Outcome.SUCCESS, TaskState.FAILED): CallbackEvent.FAILURE,
    # It was stopped for its run to end, or cleared: nothing that it has done.
    (Outcome.CANCELLED, TaskState.SKIPPED): None,
    (Outcome.SUCCESS, TaskState.SKIPPED): None,
    (Outcome.CANCELLED, TaskState.NONE): None,
}


@pytest.mark.parametrize(("outcome", "state"), EVENTS)
def test_the_end_of_an_attempt_is_an_event_by_what_it_leaves(
    outcome: Outcome, state: TaskState
) -> None:
    assert task_event(ALL, outcome, state) is EVENTS[outcome, state]


@pytest.mark.parametrize("having", [(), (CallbackEvent.SKIPPED,), (CallbackEvent.RETRY,)])
def test_what_there_are_no_functions_for_is_no_event(having: tuple[CallbackEvent, ...]) -> None:
    assert task_event(having, Outcome.FAILED, TaskState.FAILED) is None
    assert run_event(having, RunState.FAILED, told=False, timed_out=False) is None


def test_a_task_that_never_began_is_in_no_state_that_is_an_event() -> None:
    never = (TaskState.UPSTREAM_FAILED, TaskState.REMOVED, TaskState.SCHEDULED, TaskState.QUEUED)

    assert {task_event(ALL, *each) for each in product(Outcome, never)} == {None}


@pytest.mark.parametrize(
    ("ended", "told", "timed_out", "expected"),
    [
        (RunState.SUCCESS, False, False, (CallbackEvent.SUCCESS, RunReason.SUCCESS)),
        (RunState.FAILED, False, False, (CallbackEvent.FAILURE, RunReason.TASK_FAILURE)),
        (RunState.FAILED, True, True, (CallbackEvent.FAILURE, RunReason.TIMED_OUT)),
        (RunState.FAILED, True, False, None),
        (RunState.SUCCESS, True, False, None),
    ],
)
def test_the_end_of_a_run_is_an_event_unless_a_user_has_ended_it(
    ended: RunState, told: bool, timed_out: bool, expected: object
) -> None:
    assert run_event(ALL, ended, told=told, timed_out=timed_out) == expected


def test_the_table_of_moves_knows_every_state() -> None:
    assert set(CALLBACK_MOVES) == set(CallbackState)
    assert {state for state, moves in CALLBACK_MOVES.items() if not moves} == {
        CallbackState.SUCCESS,
        CallbackState.FAILED,
    }
