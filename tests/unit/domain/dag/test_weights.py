"""Effective priorities, against an oracle that walks the graph for each task by itself."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.dag.spec import TaskSpec
from headway.domain.dag.weights import HEAVIEST, WeightRule, priorities


def task(
    task_id: str, *upstream: str, weight: int = 1, rule: WeightRule = WeightRule.DOWNSTREAM
) -> TaskSpec:
    return TaskSpec(
        task_id=task_id,
        operator="empty",
        upstream=upstream,
        priority_weight=weight,
        weight_rule=rule,
    )


@st.composite
def dags(draw: st.DrawFn) -> list[TaskSpec]:
    """A DAG in topological order: each task waits for some of those before it."""
    made: list[TaskSpec] = []
    for number in range(draw(st.integers(0, 8))):
        above = [other.task_id for other in made]
        upstream = draw(st.lists(st.sampled_from(above), unique=True)) if above else []
        weight = draw(st.integers(0, 5) | st.integers(-3, HEAVIEST))
        rule = draw(st.sampled_from(WeightRule))
        made.append(task(f"t{number}", *upstream, weight=weight, rule=rule))
    return made


def oracle(tasks: Sequence[TaskSpec]) -> dict[str, int]:
    by_id = {each.task_id: each for each in tasks}

    def above(task_id: str) -> set[str]:
        direct = by_id[task_id].upstream
        return {*direct, *(further for each in direct for further in above(each))}

    def below(task_id: str) -> set[str]:
        return {other for other in by_id if task_id in above(other)}

    related = {
        WeightRule.ABSOLUTE: lambda task_id: set[str](),
        WeightRule.UPSTREAM: above,
        WeightRule.DOWNSTREAM: below,
    }
    return {
        each.task_id: min(
            HEAVIEST,
            each.priority_weight
            + sum(
                by_id[task_id].priority_weight
                for task_id in related[each.weight_rule](each.task_id)
            ),
        )
        for each in tasks
    }


@given(dags())
def test_each_task_has_the_weights_of_those_that_its_rule_names(tasks: list[TaskSpec]) -> None:
    assert priorities(tasks) == oracle(tasks)


DIAMOND = [("a", ()), ("b", ("a",)), ("c", ("a",)), ("d", ("b", "c"))]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (WeightRule.ABSOLUTE, [1, 10, 100, 1000]),
        (WeightRule.DOWNSTREAM, [1111, 1010, 1100, 1000]),
        (WeightRule.UPSTREAM, [1, 11, 101, 1111]),
    ],
)
def test_a_task_reached_by_two_ways_counts_once(rule: WeightRule, expected: list[int]) -> None:
    tasks = [
        task(task_id, *upstream, weight=10**number, rule=rule)
        for number, (task_id, upstream) in enumerate(DIAMOND)
    ]

    assert list(priorities(tasks).values()) == expected


def test_a_dag_without_tasks_has_no_weights() -> None:
    assert priorities([]) == {}


@pytest.mark.parametrize("rule", list(WeightRule))
def test_a_sum_is_cut_off_where_the_database_ends(rule: WeightRule) -> None:
    tasks = [
        task("a", weight=HEAVIEST, rule=rule),
        task("b", "a", weight=HEAVIEST, rule=rule),
    ]

    assert set(priorities(tasks).values()) == {HEAVIEST}


def test_a_large_dag_takes_little_time() -> None:
    """Ten thousand tasks in a hundred layers, each waiting for ten of the layer above."""
    tasks = [
        task(f"{layer}.{place}", *(f"{layer - 1}.{(place + n) % 100}" for n in range(10) if layer))
        for layer in range(100)
        for place in range(100)
    ]

    found = priorities(tasks)

    assert found["99.0"] == 1
    assert found["0.0"] == 1 + sum(min(100, 1 + 9 * layer) for layer in range(1, 100))
