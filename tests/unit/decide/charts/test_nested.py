"""Graphs within graphs: the groups of tasks."""

from collections.abc import Iterator, Mapping

from hypothesis import given
from hypothesis import strategies as st

from headway.decide.charts.nested import GraphLevel, nested
from headway.domain.dag.task_groups import GroupSpec

UPSTREAM = {"a": [], "g.b": ["a"], "g.h.c": ["g.b"], "g.h.d": ["a", "g.h.c"], "e": ["g.h.d", "a"]}
GROUPS = (
    GroupSpec(group_id="g", tasks=("g.b",)),
    GroupSpec(group_id="g.h", parent="g", tasks=("g.h.c", "g.h.d")),
    GroupSpec(group_id="empty"),
)
LABELS = {("a", "g.b"): "one", ("a", "g.h.d"): "two", ("g.b", "g.h.c"): "in", ("g.h.d", "e"): "out"}


def test_without_groups_all_is_on_one_level() -> None:
    assert nested(UPSTREAM) == GraphLevel(UPSTREAM)


def test_an_edge_is_drawn_where_both_its_ends_are() -> None:
    found = nested(UPSTREAM, GROUPS, labels=LABELS)

    assert found.upstream == {"a": [], "g": ["a"], "e": ["g", "a"]}
    assert found.labels == {("a", "g"): ["one", "two"], ("g", "e"): ["out"]}
    assert found.inside["g"].upstream == {"g.b": [], "g.h": ["g.b"]}
    assert found.inside["g"].labels == {("g.b", "g.h"): ["in"]}
    assert found.inside["g"].inside["g.h"].upstream == {"g.h.c": [], "g.h.d": ["g.h.c"]}


def test_of_a_folded_group_nothing_is_drawn_that_is_in_it() -> None:
    inner, outer = nested(UPSTREAM, GROUPS, {"g.h"}), nested(UPSTREAM, GROUPS, {"g", "g.h"})

    assert inner.inside["g"].folded == {"g.h": ["g.h.c", "g.h.d"]}
    assert inner.inside["g"].inside == {}
    assert outer == GraphLevel(
        {"a": [], "g": ["a"], "e": ["g", "a"]}, folded={"g": ["g.b", "g.h.c", "g.h.d"]}
    )


def test_a_group_that_a_path_leaves_and_enters_again_is_left_out() -> None:
    upstream = {"g.a": [], "b": ["g.a"], "g.c": ["b"], "h.d": ["g.c"]}
    groups = (
        GroupSpec(group_id="g", tasks=("g.a", "g.c")),
        GroupSpec(group_id="h", tasks=("h.d",)),
    )

    found = nested(upstream, groups, {"g"})

    assert found.upstream == {"g.a": [], "b": ["g.a"], "g.c": ["b"], "h": ["g.c"]}
    assert found.inside.keys() == {"h"}
    assert found.folded == {}


def test_of_a_part_of_a_graph_only_that_is_drawn() -> None:
    part = {"g.h.d": ["g.h.c", "a"], "e": ["g.h.d"]}

    assert nested(part, GROUPS).upstream == {"g": [], "e": ["g"]}


@st.composite
def grouped(draw: st.DrawFn) -> tuple[dict[str, list[str]], list[GroupSpec]]:
    number = draw(st.integers(1, 10))
    names = [f"t{nth}" for nth in range(number)]
    upstream = {
        name: draw(st.lists(st.sampled_from(names[:nth]), unique=True)) if nth else []
        for nth, name in enumerate(names)
    }
    places = [draw(st.integers(-1, 3)) for _ in names]
    groups = [
        GroupSpec(
            group_id=f"g{nth}",
            parent=f"g{parent}" if (parent := draw(st.integers(-1, nth - 1))) >= 0 else None,
            tasks=tuple(name for name, place in zip(names, places, strict=True) if place == nth),
        )
        for nth in range(4)
    ]
    return upstream, groups


@given(grouped(), st.sets(st.sampled_from(["g0", "g1", "g2", "g3"])))
def test_every_task_is_there_once_and_every_edge_leads_on(
    graph: tuple[dict[str, list[str]], list[GroupSpec]], folded: set[str]
) -> None:
    upstream, groups = graph
    found = nested(upstream, groups, folded)
    shown = dict(places(found, ()))

    assert shown.keys() == upstream.keys()
    for task, its in upstream.items():
        for above in its:
            if shown[above] != shown[task]:
                assert leads(found, shown[above], shown[task])


def places(level: GraphLevel, path: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in level.upstream:
        if name in level.inside:
            yield from places(level.inside[name], (*path, name))
        else:
            for task in level.folded.get(name, [name]):
                yield task, (*path, name)


def leads(level: GraphLevel, above: tuple[str, ...], below: tuple[str, ...]) -> bool:
    if above[0] == below[0]:
        return leads(level.inside[above[0]], above[1:], below[1:])
    edges: Mapping[str, object] = level.upstream
    return above[0] in edges and above[0] in level.upstream[below[0]]
