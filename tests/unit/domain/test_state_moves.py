"""The moves of a task instance against a table that was written apart from MOVES."""

from itertools import product

import pytest

from headway.domain.states import (
    HOLDS_SLOTS,
    MOVES,
    TERMINAL,
    UNFINISHED_RUN,
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
    queued failed
    running failed
    running up_for_retry
    restarting none
    deferred scheduled
    deferred failed
    up_for_retry scheduled
    up_for_retry failed
"""
WORKER = """
    queued running
    running success
    running failed
    running skipped
    running up_for_retry
    running deferred
    restarting none
"""
USER = """
    none success
    none failed
    none skipped
    scheduled success
    scheduled failed
    scheduled none
    queued success
    queued failed
    queued none
    running success
    running failed
    running restarting
    restarting success
    restarting failed
    deferred failed
    deferred none
    up_for_retry success
    up_for_retry failed
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


def test_only_a_user_moves_what_has_ended() -> None:
    for state in TERMINAL:
        assert {role for roles in MOVES[state].values() for role in roles} == {Role.USER}


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


def test_a_task_never_moves_to_where_it_is() -> None:
    assert not any(state in MOVES[state] for state in TaskState)


def test_slots_are_held_from_queued_until_the_attempt_is_over() -> None:
    assert sorted(HOLDS_SLOTS) == ["queued", "restarting", "running"]
    assert not HOLDS_SLOTS & TERMINAL


def test_what_has_ended() -> None:
    assert sorted(TERMINAL) == ["failed", "removed", "skipped", "success", "upstream_failed"]
    assert set(RunState) - UNFINISHED_RUN == {"success", "failed"}
