"""How a run stands as one instance in a mapped group sees it."""

from dataclasses import replace

import pytest

from headway.decide.explain.one_index import at_index, choosers, index_of, index_of_all, named
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import RunCounts, TaskCounts
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.states import TaskState

NONE, SUCCESS, FAILED = TaskState.NONE, TaskState.SUCCESS, TaskState.FAILED


def task(task_id: str, *upstream: str, group: str | None = "g") -> TaskSpec:
    made = TaskSpec(task_id=task_id, operator="empty", upstream=upstream)
    over = (MapInput(argument="x", length=3),)
    return made if group is None else replace(made, mapped_over=over, mapped_group=group)


DAG = DagSpec(
    dag_id="d",
    relative_path="d.py",
    timetable=TimetableSpec(name="null"),
    timezone="UTC",
    tasks=(
        task("first", group=None),
        task("a", "first"),
        task("b", "a"),
        task("last", "b", group=None),
        task("z", "b", group="other"),
    ),
)
RUN = RunCounts(
    1,
    DagGraph(DAG),
    {
        "first": TaskCounts({SUCCESS: 1}),
        "a": TaskCounts(
            {SUCCESS: 1, FAILED: 1, NONE: 1}, [12], by_index={0: SUCCESS, 1: FAILED, 2: NONE}
        ),
        "b": TaskCounts({NONE: 3}, [20, 21, 22], by_index=dict.fromkeys(range(3), NONE)),
        "last": TaskCounts({NONE: 1}, [30]),
        "z": TaskCounts({NONE: 1}, [40], placeholder=True, by_index={-1: NONE}),
    },
)


def test_one_instance_alone_counts_of_each_task_of_the_group() -> None:
    seen = at_index(RUN, "b", 2).tasks

    assert seen["a"] == TaskCounts({NONE: 1}, [12], by_index={2: NONE})
    assert seen["b"] == TaskCounts({NONE: 1}, [22], by_index={2: NONE})
    assert at_index(RUN, "b", 1).tasks["a"] == TaskCounts({FAILED: 1}, by_index={1: FAILED})
    for name in ("first", "last", "z"):
        assert seen[name] is RUN.tasks[name]


@pytest.mark.parametrize(("task_id", "map_index"), [("last", -1), ("b", -1), ("first", 2)])
def test_what_is_not_an_instance_in_a_group_sees_all(task_id: str, map_index: int) -> None:
    assert at_index(RUN, task_id, map_index) is RUN


def test_instances_that_are_not_there_leave_the_counts_as_they_are() -> None:
    assert at_index(RUN, "b", 7).tasks == RUN.tasks


def test_what_is_named_is_the_one_instance() -> None:
    seen = at_index(RUN, "b", 2)

    assert [named(seen, name) for name in ("a", "last", "gone")] == ["a[2]", "last", "gone"]
    assert [index_of(RUN.tasks[name]) for name in ("a", "first", "z")] == [-1, -1, -1]
    assert index_of_all(seen.tasks, ["a", "b"]) == 2
    assert index_of_all(seen.tasks, ["a", "first"]) == -1
    assert index_of_all(seen.tasks, ["gone"]) == -1


CHOICES = {
    ("a", 0): ["b", "last", "z"],
    ("a", 2): ["b"],
    ("first", -1): ["b", "last"],
}


def test_a_choice_in_a_group_counts_for_its_own_map_index() -> None:
    assert choosers(RUN, CHOICES, "b", 2) == {"b": ["a", "first"], "last": ["first"]}
    assert choosers(RUN, CHOICES, "b", 1) == {"b": ["first"], "last": ["first"]}
    assert choosers(RUN, CHOICES, "last", -1)["last"] == ["first"]
