"""Where the tasks of a graph are drawn: in layers from left to right, with few crossings.

After Sugiyama, Tagawa and Toda (1981), with one change: a task whose edges reach beyond the next
layer has one trunk of virtual nodes, not one chain for each edge.  So long edges of one task are
drawn as one line that branches, and a graph of thousands of edges has few virtual nodes.
"""

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

_SWEEPS: Final = 16
_IN_VAIN: Final = 3
"""Sweeps without fewer crossings after which the order is taken as it is."""

_SETTLING: Final = 6
_THIN: Final = 0.5
"""How far trunks are apart; a task of one row is 1 away from what is beside it."""


@dataclass(frozen=True, slots=True)
class Place:
    """A layer, counted from 0 on the left, and a height in rows, from 0 at the top."""

    layer: int
    row: float


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of an edge from one layer to the next one; it belongs to the edges of `source`.

    `target` is the task that it ends at, None where the trunk goes on.
    """

    source: str
    start: Place
    end: Place
    target: str | None


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of all tasks, and the pieces of all edges.

    What is not one row high is in `heights`; its place is that of its middle.
    """

    places: Mapping[str, Place]
    segments: Sequence[Segment]
    heights: Mapping[str, float] = field(default_factory=dict)

    @property
    def layers(self) -> int:
        """How many layers there are."""
        return 1 + max((place.layer for place in self.places.values()), default=-1)

    @property
    def rows(self) -> float:
        """How many rows high it is."""
        ends = [segment.end.row for segment in self.segments]
        lowest = [
            place.row + (self.heights.get(task, 1.0) - 1) / 2 for task, place in self.places.items()
        ]
        return 1 + max([*ends, *lowest], default=-1)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Tasks in their layers, and trunks of tasks in later layers, all of them by numbers.

    `links` has the nodes of the next layer to which each is linked, `back` those of the layer
    before.
    """

    layers: list[list[int]]
    tasks: list[str]
    layer_of: list[int]
    is_trunk: list[bool]
    links: list[list[int]]
    back: list[list[int]]


def layout(
    upstream: Mapping[str, Sequence[str]], heights: Mapping[str, float] | None = None
) -> Layout:
    """Return where to draw tasks, given those right above each of them; there must be no cycle.

    The order of the mapping makes no difference.  `heights` are rows of those that are higher
    than one.
    """
    heights = heights or {}
    above = {task: sorted({its for its in upstream[task] if its in upstream}) for task in upstream}
    nodes = _with_trunks(above, _layers(above))
    _order(nodes)
    rows = _rows(nodes, [_height(nodes, node, heights) for node in range(len(nodes.tasks))])
    places = [Place(layer, row) for layer, row in zip(nodes.layer_of, rows, strict=True)]
    segments = [
        Segment(
            nodes.tasks[start],
            places[start],
            places[end],
            None if nodes.is_trunk[end] else nodes.tasks[end],
        )
        for start, ends in enumerate(nodes.links)
        for end in ends
    ]
    return Layout(
        {
            task: place
            for task, place, is_trunk in zip(nodes.tasks, places, nodes.is_trunk, strict=True)
            if not is_trunk
        },
        segments,
        heights,
    )


def _height(nodes: _Nodes, node: int, heights: Mapping[str, float]) -> float:
    return 1.0 if nodes.is_trunk[node] else heights.get(nodes.tasks[node], 1.0)


def _layers(above: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the layer of each task: by its longest path, then pulled to where most edges are."""
    below: dict[str, list[str]] = {task: [] for task in above}
    for task in sorted(above):
        for its in above[task]:
            below[its].append(task)
    order, layer_of = _topological(above, below), dict.fromkeys(above, 0)
    for task in order:
        layer_of[task] = 1 + max((layer_of[its] for its in above[task]), default=-1)
    for task in reversed(order):
        if below[task] and len(below[task]) > len(above[task]):
            layer_of[task] = min(layer_of[its] for its in below[task]) - 1
    return layer_of


def _topological(
    above: Mapping[str, Sequence[str]], below: Mapping[str, Sequence[str]]
) -> list[str]:
    missing = {task: len(above[task]) for task in above}
    order = sorted(task for task in above if not missing[task])
    for task in order:  # which grows
        for its in below[task]:
            missing[its] -= 1
            if not missing[its]:
                order.append(its)
    return order


def _with_trunks(above: Mapping[str, Sequence[str]], layer_of: Mapping[str, int]) -> _Nodes:
    farthest = dict(layer_of)
    for task in above:
        for its in above[task]:
            farthest[its] = max(farthest[its], layer_of[task] - 1)
    nodes = _Nodes([[] for _ in range(1 + max(layer_of.values(), default=-1))], [], [], [], [], [])
    first: dict[str, int] = {}
    for task in sorted(above):
        first[task] = len(nodes.tasks)
        for layer in range(layer_of[task], farthest[task] + 1):
            _add(nodes, task, layer, is_trunk=layer > layer_of[task])
    for task in sorted(above):
        for its in above[task]:
            _link(nodes, first[its] + layer_of[task] - 1 - layer_of[its], first[task])
    return nodes


def _add(nodes: _Nodes, task: str, layer: int, *, is_trunk: bool) -> None:
    number = len(nodes.tasks)
    nodes.layers[layer].append(number)
    nodes.tasks.append(task)
    nodes.layer_of.append(layer)
    nodes.is_trunk.append(is_trunk)
    nodes.links.append([])
    nodes.back.append([])
    if is_trunk:
        _link(nodes, number - 1, number)


def _link(nodes: _Nodes, start: int, end: int) -> None:
    nodes.links[start].append(end)
    nodes.back[end].append(start)


def _order(nodes: _Nodes) -> None:
    """Sort each layer so that few links cross: each node near the middle of its neighbours."""
    layers, place_of = nodes.layers, [0] * len(nodes.tasks)
    for layer in layers:
        _number(layer, place_of)
    best, least, in_vain = [list(layer) for layer in layers], _crossings(nodes, place_of), 0
    for sweep in range(_SWEEPS):
        if in_vain >= _IN_VAIN or not least:
            break
        forwards = sweep % 2 == 0
        neighbours = nodes.back if forwards else nodes.links
        for layer in layers[1:] if forwards else layers[-2::-1]:
            _sort_by_middle(layer, neighbours, place_of)
        crossings = _crossings(nodes, place_of)
        in_vain = 0 if crossings < least else in_vain + 1
        if crossings < least:
            best, least = [list(layer) for layer in layers], crossings
    layers[:] = best


def _number(layer: Sequence[int], place_of: list[int]) -> None:
    for place, node in enumerate(layer):
        place_of[node] = place


def _sort_by_middle(
    layer: list[int], neighbours: Sequence[Sequence[int]], place_of: list[int]
) -> None:
    middle = {
        node: sum([place_of[its] for its in found]) / len(found)
        if (found := neighbours[node])
        else float(place_of[node])
        for node in layer
    }
    layer.sort(key=middle.__getitem__)
    _number(layer, place_of)


def _crossings(nodes: _Nodes, place_of: Sequence[int]) -> int:
    """Count the pairs of links that cross."""
    count = 0
    for layer in nodes.layers:
        seen: list[int] = []
        for node in layer:
            ends = sorted([place_of[its] for its in nodes.links[node]])
            for end in ends:
                count += len(seen) - bisect_right(seen, end)
            for end in ends:
                insort(seen, end)
    return count


def _rows(nodes: _Nodes, heights: Sequence[float]) -> list[float]:
    """Return where the middle of each node is: near its neighbours, in the order of its layer."""
    offsets = [_offsets(layer, nodes.is_trunk, heights) for layer in nodes.layers]
    rows = [0.0] * len(nodes.tasks)
    for layer, its in zip(nodes.layers, offsets, strict=True):
        for node, offset in zip(layer, its, strict=True):
            rows[node] = offset
    both = list(zip(nodes.layers, offsets, strict=True))
    for turn in range(_SETTLING):
        forwards = turn % 2 == 0
        neighbours = nodes.back if forwards else nodes.links
        for layer, its in both if forwards else both[::-1]:
            wanted = [
                _mean([rows[each] for each in neighbours[node]], rows[node]) for node in layer
            ]
            for node, row in zip(layer, _apart(wanted, its), strict=True):
                rows[node] = row
    tops = [row - (height - 1) / 2 for row, height in zip(rows, heights, strict=True)]
    least = min(tops, default=0.0)
    return [round(row - least, 3) for row in rows]


def _offsets(
    layer: Sequence[int], is_trunk: Sequence[bool], heights: Sequence[float]
) -> list[float]:
    """Return how far below the first node of a layer each is at the least."""
    found, at = [], 0.0
    for nth, node in enumerate(layer):
        if nth:
            last = layer[nth - 1]
            both = is_trunk[node] and is_trunk[last]
            at += _THIN if both else (heights[node] + heights[last]) / 2
        found.append(at)
    return found


def _apart(wanted: Sequence[float], offsets: Sequence[float]) -> list[float]:
    """Return heights near the wanted ones that keep their distances.

    This is the isotonic regression of `wanted` less `offsets`, by pooling adjacent violators.
    """
    blocks: list[tuple[float, int]] = []  # the sum and the number of what is pooled
    for want, offset in zip(wanted, offsets, strict=True):
        total, number = want - offset, 1
        while blocks and blocks[-1][0] * number >= total * blocks[-1][1]:
            before = blocks.pop()
            total, number = total + before[0], number + before[1]
        blocks.append((total, number))
    means = [total / number for total, number in blocks for _ in range(number)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
