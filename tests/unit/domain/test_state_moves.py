"""The tables of moves against tables that were written apart from them."""

from collections.abc import Iterator
from itertools import product

import pytest

from headway.domain.states import (
    HOLDS_SLOTS,
    INITIAL,
    MOVES,
    PHASE_MOVES,
    RUN_MOVES,
    STOP_TARGETS,
    TERMINAL,
    UNFINISHED_RUN,
    Phase,
    Role,
    RunState,
    TaskState,
    sources,
)

# What each role may do: "from to", one move a line.
SCHEDULER = """
    none scheduled
    none skipped
    none upstream_failed
    none removed
    none failed
    scheduled queued
    scheduled skipped
    scheduled failed
    queued scheduled
    queued skipped
    queued failed
    running success
    running failed
    running skipped
    running up_for_retry
    running queued
    restarting queued
    restarting none
    restarting success
    restarting failed
    restarting skipped
    deferred scheduled
    deferred skipped
    deferred failed
    up_for_retry scheduled
    up_for_retry skipped
    up_for_retry failed
    success none
    failed none
    skipped none
    upstream_failed none
    removed none
"""
WORKER = """
    queued running
    queued restarting
    running success
    running failed
    running skipped
    running up_for_retry
    running deferred
    restarting none
    restarting success
    restarting failed
    restarting skipped
"""
USER = """
    none success
    none failed
    none skipped
    scheduled success
    scheduled failed
    scheduled skipped
    scheduled none
    queued success
    queued failed
    queued skipped
    queued none
    running restarting
    deferred success
    deferred failed
    deferred skipped
    deferred none
    up_for_retry success
    up_for_retry failed
    up_for_retry skipped
    up_for_retry none
    success none
    success failed
    failed none
    failed success
    skipped none
    skipped success
    skipped failed
    upstream_failed none
    upstream_failed success
    upstream_failed failed
    removed none
    none removed
    scheduled removed
    queued removed
    deferred removed
    up_for_retry removed
    success removed
    failed removed
    skipped removed
    upstream_failed removed
"""
RUNS = """
    queued running by scheduler
    queued success by user
    queued failed by scheduler
    queued failed by user
    running success by scheduler
    running failed by scheduler
    success queued by user
    success queued by scheduler
    success failed by user
    failed queued by user
    failed queued by scheduler
    failed success by user
"""
PHASES = """
    queued running by worker
    queued stopping by worker
    queued ended by scheduler
    queued ended by user
    running stopping by scheduler
    running stopping by user
    running ended by worker
    running ended by scheduler
    stopping ended by worker
    stopping ended by scheduler
"""
ALLOWED = {
    (*line.split(), role)
    for role, table in ((Role.SCHEDULER, SCHEDULER), (Role.WORKER, WORKER), (Role.USER, USER))
    for line in table.strip().splitlines()
}


@pytest.mark.parametrize("role", Role)
def test_every_move_is_allowed_to_those_who_may_make_it_and_to_nobody_else(role: Role) -> None:
    for source, target in product(TaskState, TaskState):
        allowed = (str(source), str(target), role) in ALLOWED
        assert (role in MOVES[source].get(target, ())) is allowed, (source, target)


@pytest.mark.parametrize(("target", "role"), [*product(TaskState, Role)])
def test_the_guard_of_an_update_names_the_sources_of_a_move(target: TaskState, role: Role) -> None:
    expected = sorted(source for source, to, who in ALLOWED if (to, who) == (target, role))

    assert sources(target, role) == expected


def written(table: str) -> set[tuple[str, str, str]]:
    """The moves of a table: from, to, by whom."""
    rows = [line.split() for line in table.strip().splitlines()]
    return {(source, target, role) for source, target, _by, role in rows}


def test_the_moves_of_runs() -> None:
    moves = {
        (str(source), str(target), str(role))
        for source, targets in RUN_MOVES.items()
        for target, roles in targets.items()
        for role in roles
    }

    assert set(RUN_MOVES) == set(RunState)
    assert moves == written(RUNS)


def test_the_moves_of_attempts() -> None:
    moves = {
        (str(source), str(target), str(role))
        for source, targets in PHASE_MOVES.items()
        for target, roles in targets.items()
        for role in roles
    }

    assert set(PHASE_MOVES) == set(Phase)
    assert moves == written(PHASES)


def test_only_a_user_moves_what_has_ended_and_a_scheduler_that_resets_it() -> None:
    for state in TERMINAL:
        assert MOVES[state][TaskState.NONE] == {Role.USER, Role.SCHEDULER}
        for target in MOVES[state].keys() - {TaskState.NONE}:
            assert MOVES[state][target] == {Role.USER}


def test_whatever_has_not_ended_can_be_brought_to_an_end_by_a_service() -> None:
    services = {Role.SCHEDULER, Role.WORKER}
    ends, reached = set(TERMINAL), set[TaskState]()
    while ends != reached:
        reached = set(ends)
        ends |= {
            source
            for source, moves in MOVES.items()
            if any(target in ends and roles & services for target, roles in moves.items())
        }

    assert ends == set(TaskState)


def reachable(source: TaskState, roles: set[Role]) -> Iterator[TaskState]:
    """The states that these roles may move a task to in one move."""
    return (target for target, who in MOVES[source].items() if who & roles)


def test_every_state_is_reached_from_the_initial_ones() -> None:
    seen = set[TaskState]()
    waiting = set(INITIAL)
    while waiting:
        seen |= waiting
        waiting = {to for state in waiting for to in reachable(state, set(Role))} - seen

    assert seen == set(TaskState)


def test_a_task_that_was_stopped_may_become_what_it_was_stopped_for() -> None:
    """Its worker moves it, or the scheduler when the worker has died."""
    for role in (Role.WORKER, Role.SCHEDULER):
        assert set(reachable(TaskState.RESTARTING, {role})) >= STOP_TARGETS
        assert STOP_TARGETS - {TaskState.NONE} <= set(reachable(TaskState.RUNNING, {role}))


def test_what_a_user_clears_begins_again() -> None:
    """None of them runs: a running one is told to stop first, and is restarting until it has."""
    live = {TaskState.RUNNING, TaskState.RESTARTING, TaskState.NONE}
    for state in set(TaskState) - live:
        assert TaskState.NONE in set(reachable(state, {Role.USER})), state
    assert list(reachable(TaskState.RUNNING, {Role.USER})) == [TaskState.RESTARTING]


def test_a_task_never_moves_to_where_it_is() -> None:
    assert not any(state in MOVES[state] for state in TaskState)


def test_slots_are_held_from_queued_until_the_attempt_is_over() -> None:
    assert sorted(HOLDS_SLOTS) == ["queued", "restarting", "running"]
    assert not HOLDS_SLOTS & TERMINAL


def test_what_has_ended() -> None:
    assert sorted(TERMINAL) == ["failed", "removed", "skipped", "success", "upstream_failed"]
    assert set(RunState) - UNFINISHED_RUN == {"success", "failed"}
