"""Clearing in mapped groups: one instance takes those of its own map index along."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headway.decide.changes.clear import Selection, clear, scope
from headway.decide.changes.intervene import Instance, Intervention
from headway.decide.changes.repin import repin
from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.errors import ConflictError
from headway.domain.states import TaskState

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
OVER = (MapInput(argument="x", task_id="list"),)


def task(task_id: str, *upstream: str) -> TaskSpec:
    return TaskSpec(task_id=task_id, operator="empty", upstream=upstream)


def inside(task_id: str, *upstream: str, **fields: Any) -> TaskSpec:
    return replace(task(task_id, *upstream), mapped_over=OVER, mapped_group="g", **fields)


def graph(*tasks: TaskSpec) -> DagGraph:
    return DagGraph(
        DagSpec(
            dag_id="d",
            relative_path="d.py",
            timetable=TimetableSpec(name="null"),
            timezone="UTC",
            tasks=tasks,
        )
    )


GROUP = graph(
    task("list"), inside("a", "list"), inside("b", "a"), inside("c", "b"), task("sum", "c")
)
SETUPS = graph(
    task("list"),
    inside("make", "list", is_setup=True),
    inside("use", "make"),
    inside("remove", "use", "make", is_teardown=True),
)


def instances(dag: DagGraph, indexes: int = 3, without: Collection[str] = ()) -> list[Instance]:
    """A run that has ended; tasks `without` instances ended as a whole."""
    found: list[Instance] = []
    for name in dag.tasks:
        several = dag.group_of(name) is not None and name not in without
        for map_index in range(indexes) if several else [-1]:
            at = NOON + timedelta(minutes=len(found))
            state = TaskState.SUCCESS
            found.append(Instance(len(found), name, map_index, state, None, at, at))
    return found


def cleared(
    dag: DagGraph, selection: Selection, found: list[Instance]
) -> tuple[set[str], Intervention]:
    wanted = scope(dag, selection)
    what = clear(dag, [instance for instance in found if instance.task_id in wanted], selection)
    ids = what.moves.get(TaskState.NONE, ())
    return {instance.name for instance in found if instance.id in ids}, what


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        (Selection(["b"], 1), "b[1] c[1] sum"),
        (Selection(["a"], 0), "a[0] b[0] c[0] sum"),
        (Selection(["a"], 0, downstream=False), "a[0]"),
        (Selection(["c"]), "c[0] c[1] c[2] sum"),
        (Selection(["a"], 0, only_failed=True), ""),
    ],
)
def test_one_instance_is_cleared_with_those_of_its_map_index(
    selection: Selection, names: str
) -> None:
    found, what = cleared(GROUP, selection, instances(GROUP))

    assert found == set(names.split())
    assert not what.placeholders


def test_what_has_ended_as_a_whole_is_cleared_with_each_map_index() -> None:
    found, _ = cleared(GROUP, Selection(["b"], 1), instances(GROUP, without=["c"]))

    assert found == {"b[1]", "c", "sum"}


def test_setups_and_teardowns_of_the_map_index_are_cleared() -> None:
    found, _ = cleared(SETUPS, Selection(["use"], 1), instances(SETUPS))

    assert found == {"make[1]", "use[1]", "remove[1]"}


def test_one_map_index_is_cleared_alone_though_what_it_is_expanded_over_ran_again() -> None:
    found = [
        replace(instance, ended_at=NOON + timedelta(hours=5))
        if instance.task_id == "list"
        else instance
        for instance in instances(GROUP)
    ]

    names, what = cleared(GROUP, Selection(["b"], 1), found)

    assert (names, what.placeholders) == ({"b[1]", "c[1]", "sum"}, [])


def test_the_tasks_of_a_group_are_expanded_anew_together() -> None:
    """The list ended again between the first two tasks: both are of the old items."""
    found = [
        replace(instance, ended_at=NOON + timedelta(minutes=5))
        if instance.task_id == "list"
        else instance
        for instance in instances(GROUP)
    ]

    names, what = cleared(GROUP, Selection(["a"]), found)

    assert names == {"a[0]", "b[0]", "c[0]", "sum"}
    assert len(what.placeholders) == 3


def ran_again(name: str, found: list[Instance]) -> list[Instance]:
    """The same when a task ended again after everything else."""
    at = NOON + timedelta(hours=5)
    return [replace(it, ended_at=at) if it.task_id == name else it for it in found]


@pytest.mark.parametrize(
    ("selection", "staying"),
    [
        (Selection(["b"]), "a"),
        (Selection(["c"], downstream=False), "a, b"),
        (Selection(only_failed=True), "a, c"),
    ],
)
def test_a_group_over_other_items_is_cleared_as_a_whole_or_not_at_all(
    selection: Selection, staying: str
) -> None:
    """Of b there would be four instances, while there are three of a."""
    found = ran_again("list", instances(GROUP))
    found = [replace(it, state=TaskState.FAILED) if it.name == "b[1]" else it for it in found]

    with pytest.raises(ConflictError, match=rf"keep theirs: {staying}\.$"):
        cleared(GROUP, selection, found)

    names, what = cleared(GROUP, Selection(["a"]), found)
    assert (names, len(what.placeholders)) == ({"a[0]", "b[0]", "c[0]", "sum"}, 3)


def test_a_group_is_looked_at_as_one_for_when_it_began() -> None:
    """The instances of b never began: those of a tell of which items they are."""
    found = ran_again("list", instances(GROUP))
    found = [replace(it, started_at=None) if it.task_id in "bc" else it for it in found]

    with pytest.raises(ConflictError, match=r"keep theirs: a\.$"):
        cleared(GROUP, Selection(["b"]), found)


def test_a_task_of_the_group_that_is_still_to_be_expanded_stays_so() -> None:
    found = ran_again("list", instances(GROUP, without=["c"]))
    found = [replace(it, state=TaskState.NONE) if it.task_id == "c" else it for it in found]

    _, what = cleared(GROUP, Selection(["a", "b"], downstream=False), found)

    assert len(what.placeholders) == 2


def literal(length: int, *names: str) -> DagGraph:
    """A group over a list in the DAG file, of these tasks in a row."""
    over = (MapInput(argument="x", length=length),)
    tasks = [
        replace(inside(name, *names[:place][-1:]), mapped_over=over)
        for place, name in enumerate(names)
    ]
    return graph(task("list"), *tasks)


@pytest.mark.parametrize("selection", [Selection(["b"]), Selection(["b"], 1)])
def test_a_version_with_other_items_takes_the_whole_group(selection: Selection) -> None:
    was, now = literal(2, "a", "b"), literal(4, "a", "b")
    found = instances(was, 2)

    with pytest.raises(ConflictError, match=r"keep theirs: a\.$"):
        repin(was, now, found, selection)

    assert len(repin(was, now, found, replace(selection, tasks=["a"])).placeholders) == 2
    assert not repin(was, now, found, Selection(["list"])).placeholders


def test_a_version_with_the_same_items_may_take_a_part_of_the_group() -> None:
    was, now = literal(2, "a", "b"), literal(2, "a", "new", "b")

    what = repin(was, now, instances(was, 2), Selection(["b"]))
    assert len(what.placeholders) == 1

    removed = [
        replace(it, state=TaskState.REMOVED) if it.task_id == "b" else it
        for it in instances(was, 2)
    ]
    what = repin(literal(2, "a"), was, removed, Selection(["list"]))
    assert len(what.placeholders) == 1, "b comes back"
