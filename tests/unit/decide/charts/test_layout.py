"""Where the tasks of a graph are drawn."""

import itertools
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from headway.decide.charts.layout import Layout, layout

MOST = 24


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    """Return tasks with those right above them."""
    number = draw(st.integers(1, MOST))
    names = [f"t{nth:02}" for nth in draw(st.permutations(range(number)))]
    return {
        name: draw(st.lists(st.sampled_from(names[:nth]), unique=True)) if nth else []
        for nth, name in enumerate(names)
    }


def _edges(found: Layout) -> set[tuple[str, str]]:
    return {(it.source, it.target) for it in found.segments if it.target is not None}


@given(graphs())
def test_every_edge_is_drawn_and_goes_one_layer_to_the_right(graph: dict[str, list[str]]) -> None:
    found = layout(graph)

    assert set(found.places) == set(graph)
    assert _edges(found) == {(its, task) for task in graph for its in graph[task]}
    for segment in found.segments:
        assert segment.end.layer == segment.start.layer + 1
        if segment.target is not None:
            assert found.places[segment.target] == segment.end


@given(graphs())
def test_each_piece_of_an_edge_begins_where_its_task_or_the_piece_before_ends(
    graph: dict[str, list[str]],
) -> None:
    found = layout(graph)

    for segment in found.segments:
        ends = {
            it.end for it in found.segments if it.source == segment.source and it.target is None
        }
        assert segment.start in ends | {found.places[segment.source]}


@given(graphs())
def test_no_two_tasks_overlap_and_none_is_above_the_top(graph: dict[str, list[str]]) -> None:
    found = layout(graph)

    by_layer: dict[int, list[float]] = {}
    for place in found.places.values():
        by_layer.setdefault(place.layer, []).append(place.row)
    for rows in by_layer.values():
        ordered = sorted(rows)
        assert all(b - a >= 0.999 for a, b in itertools.pairwise(ordered))
        assert ordered[0] >= 0
    assert found.rows >= 1 + max(max(rows) for rows in by_layer.values())


@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_of_the_tasks_makes_no_difference(
    graph: dict[str, list[str]], chance: Random
) -> None:
    names = list(graph)
    chance.shuffle(names)
    shuffled = {name: chance.sample(graph[name], len(graph[name])) for name in names}

    assert layout(shuffled) == layout(graph)


def test_a_chain_is_a_straight_line() -> None:
    found = layout({"a": [], "b": ["a"], "c": ["b"]})

    assert [(it.layer, it.row) for it in found.places.values()] == [(0, 0), (1, 0), (2, 0)]
    assert (found.layers, found.rows) == (3, 1)


def test_chains_side_by_side_do_not_cross() -> None:
    graph = {f"{layer}{chain}": [f"{layer - 1}{2 - chain}"] if layer else []
             for layer in range(4) for chain in range(3)}  # fmt: skip
    rows = layout(graph)

    for segment in rows.segments:
        assert segment.start.row == segment.end.row


def test_a_long_edge_is_one_trunk_however_many_tasks_it_leads_to() -> None:
    graph = {"a": [], "b": ["a"], "c": ["b"], **{f"x{nth}": ["c", "a"] for nth in range(50)}}
    found = layout(graph)

    assert sum(it.source == "a" and it.target is None for it in found.segments) == 2


def test_a_task_stands_beside_what_needs_it() -> None:
    found = layout({"a": [], "b": ["a"], "c": ["b", "late"], "late": []})

    assert found.places["late"].layer == 1


def test_tasks_above_that_are_not_of_the_graph_are_left_out_and_none_is_fine() -> None:
    assert _edges(layout({"a": ["gone"]})) == set()
    assert (layout({}).layers, layout({}).rows, layout({}).segments) == (0, 0, [])
