"""Clearing in mapped groups: one instance takes those of its own map index along."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headway.decide.changes.clear import Selection, clear, scope
from headway.decide.changes.intervene import Instance, Intervention
from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
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
