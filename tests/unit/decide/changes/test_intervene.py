"""What becomes of task instances by a user's wish: who moves at once, who is told to stop."""

import pytest

from headway.decide.changes.intervene import Instance, Intervention, bring, end, mark
from headway.domain.errors import ConflictError
from headway.domain.states import MOVES, TERMINAL, Phase, Role, TaskState

NONE, SUCCESS, FAILED, SKIPPED = (
    TaskState.NONE,
    TaskState.SUCCESS,
    TaskState.FAILED,
    TaskState.SKIPPED,
)
PHASES = {
    TaskState.QUEUED: Phase.QUEUED,
    TaskState.RUNNING: Phase.RUNNING,
    TaskState.RESTARTING: Phase.STOPPING,
}
UNDECIDED = ["none", "scheduled", "up_for_retry", "deferred"]


def it(state: str, number: int = 1) -> Instance:
    found = TaskState(state)
    return Instance(number, f"t{number}", -1, found, PHASES.get(found))


@pytest.mark.parametrize("state", sorted(TaskState))
def test_what_has_begun_is_told_to_stop_and_nothing_else_is(state: str) -> None:
    what = bring([(it(state), NONE)])

    begun = state in ("running", "restarting")
    assert what.stops == ({NONE: [1]} if begun else {})
    assert what.moves == ({} if begun else {NONE: [1]})
    assert what.withdrawn == ([1] if state == "queued" else [])


def test_an_attempt_that_is_stopping_is_told_again() -> None:
    """Its task may be running still, when it is to end in another state than to be restarted."""
    stopping = Instance(1, "t", -1, TaskState.RUNNING, Phase.STOPPING)

    assert bring([(stopping, SUCCESS)]).stops == {SUCCESS: [1]}


def test_one_in_the_queue_that_minds_something_is_told_to_stop_as_if_it_had_begun() -> None:
    minding = Instance(1, "t", -1, TaskState.QUEUED, Phase.QUEUED, minds=True)

    found = bring([(minding, TaskState.FAILED)])
    assert (found.stops, found.moves, found.withdrawn) == ({TaskState.FAILED: [1]}, {}, [])


def test_nothing_to_do_is_false() -> None:
    assert not bring([])
    assert not end([it("success")], FAILED)
    assert bring([(it("none"), SUCCESS)])
    assert Intervention(placeholders=[1])
    assert Intervention(dropped=[2], stops={NONE: [3]}).touched == {2, 3}


@pytest.mark.parametrize("target", [SUCCESS, FAILED, SKIPPED])
@pytest.mark.parametrize("state", sorted(TaskState))
def test_a_user_marks_what_the_table_of_moves_allows(state: TaskState, target: TaskState) -> None:
    if state in ("running", "restarting"):
        assert mark([it(state)], [], target).stops == {target: [1]}
    elif state is target:
        assert not mark([it(state)], [], target)
    elif Role.USER in MOVES[state].get(target, ()):
        assert mark([it(state)], [], target).moves == {target: [1]}
    else:
        with pytest.raises(ConflictError, match=f"Task t1 is {state}.* cannot be marked {target}"):
            mark([it(state)], [], target)


@pytest.mark.parametrize(("target", "again"), [(SUCCESS, [2]), (SKIPPED, [2]), (FAILED, [])])
def test_what_failed_below_is_cleared_unless_there_is_a_new_failure(
    target: TaskState, again: list[int]
) -> None:
    what = mark([it("running")], [it("upstream_failed", 2)], target)

    assert what.moves.get(NONE, []) == again


def test_nothing_below_is_cleared_for_a_task_that_was_marked_so_already() -> None:
    assert not mark([it("success")], [it("failed", 2)], SUCCESS)


@pytest.mark.parametrize("state", UNDECIDED)
def test_at_the_end_what_is_undecided_is_skipped(state: str) -> None:
    assert end([it(state)], FAILED) == Intervention({SKIPPED: [1]}, withdrawn=[])


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_at_the_end_what_has_ended_stays_as_it_is(state: str) -> None:
    assert not end([it(state)], FAILED)


@pytest.mark.parametrize("stopped", [SUCCESS, FAILED, SKIPPED])
def test_at_the_end_what_has_begun_becomes_what_was_said(stopped: TaskState) -> None:
    what = end([it("running", 1), it("restarting", 2), it("queued", 3)], stopped)

    assert what == Intervention({SKIPPED: [3]}, {stopped: [1, 2]}, [3])


def test_an_instance_is_called_by_its_index_if_it_has_one() -> None:
    assert Instance(1, "load", -1, NONE).name == "load"
    assert Instance(1, "load", 7, NONE).name == "load[7]"
