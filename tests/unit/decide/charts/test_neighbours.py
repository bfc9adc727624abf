"""The part of a graph that is near a task."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.decide.charts.neighbours import around

CHAIN = {"a": [], "b": ["a"], "c": ["b"], "d": ["c"], "e": ["d"]}


@pytest.mark.parametrize(("depth", "near"), [(0, "c"), (1, "bcd"), (2, "abcde"), (9, "abcde")])
def test_tasks_are_near_by_their_number_of_edges(depth: int, near: str) -> None:
    assert "".join(around(CHAIN, "c", depth)) == near


def test_what_is_beside_is_not_above_or_below() -> None:
    forked = {"a": [], "b": ["a"], "c": ["a"]}
    assert around(forked, "b", 5) == {"a": [], "b": ["a"]}


def test_a_task_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        around(CHAIN, "z", 1)


@given(st.integers(2, 30), st.data())
def test_a_part_is_a_graph_without_edges_to_elsewhere(size: int, data: st.DataObject) -> None:
    graph = {
        str(nth): [str(it) for it in data.draw(st.sets(st.integers(0, nth - 1), max_size=3))]
        if nth
        else []
        for nth in range(size)
    }
    task = str(data.draw(st.integers(0, size - 1)))
    part = around(graph, task, data.draw(st.integers(0, 5)))
    assert task in part
    assert all(above in part for its in part.values() for above in its)
