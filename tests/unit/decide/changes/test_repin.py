"""What becomes of a run's tasks when the run is given another version of its DAG."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from headway.decide.changes.clear import Selection
from headway.decide.changes.intervene import Instance, Intervention
from headway.decide.changes.repin import repin
from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.spec import MapInput, TaskSpec
from headway.domain.errors import ConflictError
from headway.domain.states import Phase, TaskState
from headway.testing.data import seed

PHASES = {"queued": Phase.QUEUED, "running": Phase.RUNNING, "restarting": Phase.STOPPING}
NONE, REMOVED = TaskState.NONE, TaskState.REMOVED
FAILED_ONES = Selection(only_failed=True)


def task(task_id: str, *upstream: str, over: str | int | None = None) -> TaskSpec:
    inputs: tuple[MapInput, ...] = ()
    if isinstance(over, int):
        inputs = (MapInput(argument="item", length=over),)
    elif over is not None:
        inputs = (MapInput(argument="item", task_id=over),)
    return replace(seed.task(task_id, *upstream), mapped_over=inputs)


def graph(*tasks: TaskSpec) -> DagGraph:
    return DagGraph(seed.dag(*tasks))


def instances(**states: str) -> list[Instance]:
    """One instance for each state, numbered from 1 on; several are those of a mapped task."""
    found: list[Instance] = []
    for task_id, listed in states.items():
        several = listed.split()
        for index, state in enumerate(several):
            map_index = index if len(several) > 1 else -1
            place = len(found) + 1
            phase = PHASES.get(state)
            found.append(Instance(place, task_id, map_index, TaskState(state), phase))
    return found


def kinds(what: Intervention) -> tuple[dict[str, Sequence[int]], dict[str, Sequence[int]]]:
    return (
        {str(state): sorted(ids) for state, ids in what.moves.items() if ids},
        {str(state): sorted(ids) for state, ids in what.stops.items() if ids},
    )


AB = graph(task("a"), task("b", "a"))
AC = graph(task("a"), task("c", "a"))


@pytest.mark.parametrize(
    ("state", "moves", "stops", "withdrawn"),
    [
        ("success", {"removed": [2]}, {}, []),
        ("none", {"removed": [2]}, {}, []),
        ("scheduled", {"removed": [2]}, {}, []),
        ("up_for_retry", {"removed": [2]}, {}, []),
        ("deferred", {"removed": [2]}, {}, []),
        ("queued", {"removed": [2]}, {}, [2]),
        ("running", {}, {"none": [2]}, []),
        ("restarting", {}, {"none": [2]}, []),
        ("removed", {}, {}, []),
    ],
)
def test_what_the_version_lacks_is_removed(
    state: str, moves: object, stops: object, withdrawn: list[int]
) -> None:
    what = repin(AB, AC, instances(a="success", b=state), FAILED_ONES)

    assert kinds(what) == (moves, stops)
    assert list(what.withdrawn) == withdrawn


@pytest.mark.parametrize("state", ["scheduled", "up_for_retry", "deferred", "queued"])
def test_what_has_not_begun_is_decided_anew(state: str) -> None:
    """The version may have it wait for others."""
    what = repin(AB, AB, instances(a="success", b=state), FAILED_ONES)

    assert kinds(what) == ({"none": [2]}, {})
    assert list(what.withdrawn) == ([2] if state == "queued" else [])


@pytest.mark.parametrize("state", ["success", "skipped", "running", "none"])
def test_what_has_begun_or_ended_stays(state: str) -> None:
    assert not repin(AB, AB, instances(a="success", b=state), FAILED_ONES)


def test_what_was_removed_comes_back_with_a_version_that_has_it() -> None:
    what = repin(AC, AB, instances(a="success", b="removed", c="success"), FAILED_ONES)

    assert kinds(what) == ({"none": [2], "removed": [3]}, {})


def test_what_is_selected_runs_again() -> None:
    what = repin(AB, AB, instances(a="success", b="running"), Selection())

    assert kinds(what) == ({"none": [1]}, {"none": [2]})


def test_what_lies_below_is_what_the_new_version_has_below() -> None:
    turned = graph(task("b"), task("a", "b"))

    what = repin(AB, turned, instances(a="success", b="success"), Selection(["b"]))

    assert kinds(what) == ({"none": [1, 2]}, {})


TWO, THREE = graph(task("w", over=2)), graph(task("w", over=3))


def test_a_mapped_task_is_expanded_anew() -> None:
    what = repin(TWO, TWO, instances(w="success success"), Selection())

    assert (list(what.placeholders), list(what.dropped)) == ([1], [2])
    assert kinds(what) == ({"none": [1]}, {})


def test_mapped_instances_that_are_not_selected_stay() -> None:
    what = repin(TWO, TWO, instances(w="success failed"), FAILED_ONES)

    assert (list(what.placeholders), kinds(what)) == ([], ({"none": [2]}, {}))


def test_a_task_that_is_mapped_otherwise_is_expanded_anew_if_any_of_it_runs_again() -> None:
    what = repin(TWO, THREE, instances(w="success failed"), FAILED_ONES)
    assert (list(what.placeholders), list(what.dropped)) == ([1], [2])

    assert not repin(TWO, THREE, instances(w="success success"), FAILED_ONES)


def test_a_task_that_is_mapped_no_more_has_one_instance_again() -> None:
    what = repin(TWO, graph(task("w")), instances(w="removed removed"), FAILED_ONES)

    assert (list(what.placeholders), list(what.dropped)) == ([1], [2])


def test_mapped_instances_of_a_task_not_named_are_decided_anew_one_by_one() -> None:
    both = graph(task("w", over=2), task("x"))

    what = repin(both, both, instances(w="success scheduled", x="failed"), Selection(["x"]))

    assert (list(what.placeholders), kinds(what)) == ([], ({"none": [2, 3]}, {}))


def test_a_mapped_task_is_not_expanded_anew_while_an_instance_runs() -> None:
    with pytest.raises(ConflictError, match=r"w\[1\] is running"):
        repin(TWO, TWO, instances(w="success running"), Selection())


def test_a_task_below_what_comes_back_is_expanded_anew() -> None:
    mapped = graph(task("list"), task("w", "list", over="list"))
    without = graph(task("w"))

    what = repin(without, mapped, instances(list="removed", w="success failed"), FAILED_ONES)

    assert (list(what.placeholders), list(what.dropped)) == ([2], [3])


def test_a_teardown_of_the_new_version_is_cleared_with_what_it_prepares_for() -> None:
    plain = graph(task("make"), task("work", "make"), task("drop", "make", "work"))
    prepared = graph(
        replace(task("make"), is_setup=True),
        task("work", "make"),
        replace(task("drop", "make", "work"), is_teardown=True),
    )
    selection = Selection(["work"], downstream=False)
    ended = instances(make="success", work="failed", drop="success")

    assert kinds(repin(plain, plain, ended, selection)) == ({"none": [2]}, {})
    assert kinds(repin(plain, prepared, ended, selection)) == ({"none": [1, 2, 3]}, {})
