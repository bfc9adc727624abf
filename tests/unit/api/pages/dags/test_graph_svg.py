"""The boxes and lines of a graph with groups."""

import re

from hypothesis import given
from hypothesis import strategies as st

from headway.decide.charts.nested import nested
from headway.domain.dag.task_groups import GroupSpec
from headway_api.pages.dags.graph_svg import HEIGHT, WIDTH, DrawnGraph, DrawnGroup, drawn

UPSTREAM = {
    "a": [],
    "beside": ["a"],
    "g.b": ["a"],
    "g.h.c": ["g.b"],
    "g.h.d": ["g.b"],
    "e": ["g.h.d", "a", "beside"],
}
GROUPS = (
    GroupSpec(group_id="g", tasks=("g.b",)),
    GroupSpec(group_id="g.h", parent="g", tasks=("g.h.c", "g.h.d")),
)


def encloses(group: DrawnGroup, box: tuple[float, float, float, float]) -> bool:
    x, y, width, height = box
    return (
        group.x < x
        and group.y < y
        and x + width < group.x + group.width
        and y + height < group.y + group.height
    )


def boxes(graph: DrawnGraph) -> dict[str, tuple[float, float, float, float]]:
    found = {it.name: (it.x, it.y, WIDTH, HEIGHT) for it in graph.nodes}
    return {**found, **{it.group_id: (it.x, it.y, it.width, it.height) for it in graph.groups}}


def test_the_box_of_a_group_is_around_what_is_in_it_and_around_nothing_else() -> None:
    graph = drawn(nested(UPSTREAM, GROUPS))
    its = {group.group_id: group for group in graph.groups}

    inside = {
        name: {other for other, box in boxes(graph).items() if encloses(group, box)}
        for name, group in its.items()
    }

    assert inside == {"g": {"g.b", "g.h", "g.h.c", "g.h.d"}, "g.h": {"g.h.c", "g.h.d"}}
    assert [group.group_id for group in graph.groups] == ["g", "g.h"]


def test_lines_begin_and_end_at_boxes() -> None:
    graph = drawn(nested(UPSTREAM, GROUPS))
    rights = {(x + width, y + height / 2) for x, y, width, height in boxes(graph).values()}
    lefts = {(x, y + height / 2) for x, y, _, height in boxes(graph).values()}

    for path in graph.edges:
        numbers = [float(it) for it in re.findall(r"-?[\d.]+", path)]
        assert any(near(numbers[0], x) and near(numbers[1], y) for x, y in rights)
        assert any(near(numbers[-2], x) and near(numbers[-1], y) for x, y in lefts)


def near(one: float, other: float) -> bool:
    return abs(one - other) < 0.2


def test_a_folded_group_is_a_box_like_that_of_a_task() -> None:
    graph = drawn(nested(UPSTREAM, GROUPS, {"g"}), {"g": "The group", "a": "a" * 40})

    assert [(it.name, it.label) for it in graph.nodes if it.folded] == [("g", "The group")]
    assert [it.label for it in graph.nodes if it.name == "a"] == ["aaaaaaaaaa…aaaaaaaaaaa"]
    assert graph.groups == []


def test_marks_leave_less_room_for_names() -> None:
    names = {"a": "a" * 40, "g": "g" * 40}
    graph = drawn(nested(UPSTREAM, GROUPS, {"g"}), names, marked=True)

    assert {it.name: len(it.label) for it in graph.nodes if it.name in names} == {"a": 20, "g": 18}


def test_a_label_stands_in_the_gap_which_is_wide_enough() -> None:
    text = "a label of some length"
    graph = drawn(nested({"a": [], "b": ["a"]}, labels={("a", "b"): text}))
    plain = drawn(nested({"a": [], "b": ["a"]}))

    [label] = graph.labels
    first, last = sorted(it.x for it in graph.nodes)
    assert (label.text, label.said) == (text, text)
    assert near(label.x, (first + WIDTH + last) / 2)
    assert graph.width > plain.width
    assert plain.labels == []


def test_nothing_has_no_size() -> None:
    assert (drawn(nested({})).width, drawn(nested({})).height) == (16, 16)


@given(st.lists(st.sampled_from(["g", "g.h", "none"]), max_size=12))
def test_no_two_boxes_overlap_unless_one_is_in_the_other(places: list[str]) -> None:
    names = [f"t{nth}" for nth in range(len(places))]
    upstream = {name: names[max(nth - 2, 0) : max(nth - 1, 0)] for nth, name in enumerate(names)}
    groups = [
        GroupSpec(
            group_id=group,
            parent=parent,
            tasks=tuple(it for it, place in zip(names, places, strict=True) if place == group),
        )
        for group, parent in (("g", None), ("g.h", "g"))
    ]
    graph = drawn(nested(upstream, groups))
    its = {group.group_id: group for group in graph.groups}
    found = boxes(graph)

    for one, (x, y, width, height) in found.items():
        assert x >= 0
        assert y >= 0
        assert x + width <= graph.width
        assert y + height <= graph.height
        for other, box in found.items():
            if one < other and not (
                (one in its and encloses(its[one], box))
                or (other in its and encloses(its[other], found[one]))
            ):
                left, top, wide, high = box
                apart = x + width <= left or left + wide <= x or y + height <= top
                assert apart or top + high <= y
