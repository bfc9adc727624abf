"""Mapped groups as data: what makes sense, for a specification that nobody has checked."""

from dataclasses import replace
from typing import Any

import pytest

from headway.domain.dag.mapped_groups import mapped_groups
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.dag.task_groups import GroupSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.dag.validation import check_valid
from headway.domain.errors import DagError

OVER = (MapInput(argument="x", task_id="list"),)


def task(task_id: str, *upstream: str) -> TaskSpec:
    return TaskSpec(task_id=task_id, operator="empty", upstream=upstream)


def inside(task_id: str, *upstream: str, **fields: Any) -> TaskSpec:
    fields = {"mapped_over": OVER, "mapped_group": "g", **fields}
    return replace(task(task_id, *upstream), **fields)


def dag(*tasks: TaskSpec, groups: tuple[GroupSpec, ...]) -> DagSpec:
    return DagSpec(
        dag_id="etl",
        relative_path="etl.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=(task("list"), *tasks),
        groups=groups,
    )


def group(group_id: str, *tasks: str, parent: str | None = None) -> GroupSpec:
    return GroupSpec(group_id=group_id, parent=parent, tasks=tasks)


A, B = inside("a", "list"), inside("b", "a", trigger_rule=TriggerRule.ALWAYS)
G, INNER = group("g", "a"), group("h", "b", parent="g")


def test_what_an_author_may_write_is_valid() -> None:
    spec = dag(A, B, task("c", "b"), groups=(group("o"), G, INNER))

    check_valid(spec)
    assert mapped_groups(spec) == {"g"}


def test_a_dag_may_have_no_mapped_group() -> None:
    assert mapped_groups(dag(task("a"), groups=(G,))) == set()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (dag(A, B, groups=()), "has the task 'a', which is not mapped as its group is"),
        (dag(A, task("b"), groups=(G, INNER)), "the task 'b', which is not mapped as its group"),
        (dag(A, B, groups=(G, group("h", "b"))), "has the task 'b', which is not mapped as"),
        (
            dag(A, inside("b", mapped_over=(MapInput(argument="x", length=2),)), groups=(G, INNER)),
            "is 'g', whose tasks are not mapped over the same",
        ),
        (
            dag(inside("a", mapped_over=()), groups=(G,)),
            "is 'g', whose tasks are not mapped over the same",
        ),
        (
            dag(A, inside("b", "a", mapped_group="h"), groups=(G, INNER)),
            "is 'h', a mapped group within another",
        ),
        (
            dag(inside("a", mapped_over=(MapInput(argument="x", task_id="z"),)), groups=(G,)),
            "expanded over a task that does not come before it",
        ),
        (
            dag(
                inside("a", mapped_over=(MapInput(argument="x", task_id="list", length=3),)),
                groups=(G,),
            ),
            "over task 'list', for which it does not wait",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(spec: DagSpec, message: str) -> None:
    with pytest.raises(DagError, match=message):
        check_valid(spec)


def test_a_group_is_not_expanded_over_a_task_of_its_own() -> None:
    over = (MapInput(argument="x", task_id="a"),)
    spec = dag(inside("a", mapped_over=over), inside("b", "a", mapped_over=over), groups=(G, INNER))

    with pytest.raises(DagError, match="does not come before it"):
        check_valid(spec)
