"""A graph of tasks as SVG: boxes in layers, boxes around groups, and lines that branch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from headway.decide.charts.layout import Layout, Segment, layout
from headway.decide.charts.nested import GraphLevel

WIDTH, HEIGHT = 168, 26
"""Pixels of a box of a task."""

_APART: Final = 56
_ROW: Final = 38
_EDGE: Final = 8
_LETTERS: Final = 22
_OF_MARK: Final = 2
"""Letters that a mark before the name takes the place of."""

_INSIDE: Final = 10
_TITLE: Final = 22
"""Pixels between the border of a group and what is in it; above it stands the name."""

_LETTER: Final = 6.5
"""Pixels of a letter of a label, about."""


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A task, or a folded group of so many: its box, and the part of its name that fits into it."""

    name: str
    label: str
    x: float
    y: float
    folded: Sequence[str]


@dataclass(frozen=True, slots=True)
class DrawnGroup:
    """The box around a group that is open."""

    group_id: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class DrawnLabel:
    """What is written on an edge, around a place; `said` is all of it."""

    text: str
    said: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """Boxes, lines and what is written on these; groups come after those that they are in."""

    nodes: list[DrawnNode] = field(default_factory=list)
    groups: list[DrawnGroup] = field(default_factory=list)
    edges: list[str] = field(default_factory=list)
    labels: list[DrawnLabel] = field(default_factory=list)
    width: float = 0
    height: float = 0
    box_width: int = WIDTH
    box_height: int = HEIGHT


@dataclass(frozen=True, slots=True)
class _Measured:
    """A level with its sizes: `lefts` and `widths` are those of its layers."""

    level: GraphLevel
    found: Layout
    inside: "Mapping[str, _Measured]"
    lefts: Sequence[float]
    widths: Sequence[float]

    @property
    def width(self) -> float:
        return self.lefts[-1] + self.widths[-1] if self.lefts else 0

    @property
    def height(self) -> float:
        return max(self.found.rows * _ROW - (_ROW - HEIGHT), 0)

    def size(self, name: str) -> tuple[float, float]:
        its = self.inside.get(name)
        if its is None:
            return WIDTH, HEIGHT
        return its.width + 2 * _INSIDE, its.height + _TITLE + _INSIDE


def drawn(
    level: GraphLevel, names: Mapping[str, str] | None = None, *, marked: bool = False
) -> DrawnGraph:
    """Return a graph; `names` are those of tasks and groups that are not called by their ids.

    The boxes of a `marked` graph have room for the mark of a state before the name.
    """
    measured = _measured(level)
    width, height = round(measured.width) + 2 * _EDGE, round(measured.height) + 2 * _EDGE
    drawing = DrawnGraph(width=width, height=height)
    room = _LETTERS - _OF_MARK * marked
    _draw(measured, drawing, (_EDGE, _EDGE), names or {}, room)
    return drawing


def shortened(name: str, letters: int = _LETTERS) -> str:
    """Return as much of the beginning and the end of a name as fits."""
    if len(name) <= letters:
        return name
    half = (letters - 1) // 2
    return f"{name[:half]}…{name[-(letters - 1 - half) :]}"


def _measured(level: GraphLevel) -> _Measured:
    inside = {name: _measured(its) for name, its in level.inside.items()}
    open_ = _Measured(level, Layout({}, ()), inside, (), ())
    sizes = {name: open_.size(name) for name in level.upstream}
    heights = {name: (sizes[name][1] + _ROW - HEIGHT) / _ROW for name in inside}
    found = layout(level.upstream, heights)
    widths, gaps = [0.0] * found.layers, [float(_APART)] * found.layers
    for name, place in found.places.items():
        widths[place.layer] = max(widths[place.layer], sizes[name][0])
    for (_, target), said in level.labels.items():
        layer = found.places[target].layer - 1
        gaps[layer] = max(gaps[layer], (len(_written(said)) + 3) * _LETTER)
    steps = [width + gap for width, gap in zip(widths, gaps, strict=True)]
    lefts = list(accumulate(steps, initial=0.0))[: found.layers]
    return _Measured(level, found, inside, lefts, widths)


def _draw(
    its: _Measured,
    drawing: DrawnGraph,
    at: tuple[float, float],
    names: Mapping[str, str],
    room: int,
) -> None:
    x, y = at
    for name, place in its.found.places.items():
        width, height = its.size(name)
        left, top = x + its.lefts[place.layer], y + place.row * _ROW + (HEIGHT - height) / 2
        left, top = round(left, 1), round(top, 1)
        if name in its.inside:
            drawing.groups.append(DrawnGroup(name, left, top, round(width, 1), round(height, 1)))
            _draw(its.inside[name], drawing, (left + _INSIDE, top + _TITLE), names, room)
        else:
            folded = its.level.folded.get(name, ())
            shown = shortened(names.get(name, name), room - _OF_MARK * bool(folded))
            drawing.nodes.append(DrawnNode(name, shown, left, top, folded))
    paths: dict[str, str] = {}
    for segment in its.found.segments:
        piece = _piece(its, segment, at)
        paths[segment.source] = paths.get(segment.source, "") + piece
        if said := its.level.labels.get((segment.source, segment.target or "")):
            drawing.labels.append(_label(its, segment, at, said))
    drawing.edges.extend(paths.values())


def _piece(its: _Measured, segment: Segment, at: tuple[float, float]) -> str:
    left, start, right, end = _ends(its, segment, at)
    bend = round((left + right) / 2, 1)
    piece = f"M{left:g} {start:g}"
    if segment.start == its.found.places[segment.source]:
        layer = segment.start.layer
        border = round(at[0] + its.lefts[layer] + its.size(segment.source)[0], 1)
        piece = f"M{border:g} {start:g}H{left:g}"
    piece += f"C{bend:g} {start:g} {bend:g} {end:g} {right:g} {end:g}"
    return piece if segment.target else f"{piece}h{its.widths[segment.end.layer]:g}"


def _label(
    its: _Measured, segment: Segment, at: tuple[float, float], said: Sequence[str]
) -> DrawnLabel:
    left, start, right, end = _ends(its, segment, at)
    middle = round((left + right) / 2, 1), round((start + end) / 2 - 3, 1)
    return DrawnLabel(_written(said), ", ".join(said), *middle)


def _ends(
    its: _Measured, segment: Segment, at: tuple[float, float]
) -> tuple[float, float, float, float]:
    """Return where a piece of an edge begins, at the end of a layer, and where it ends."""
    before, after = segment.start, segment.end
    return (
        round(at[0] + its.lefts[before.layer] + its.widths[before.layer], 1),
        round(at[1] + before.row * _ROW + HEIGHT / 2, 1),
        round(at[0] + its.lefts[after.layer], 1),
        round(at[1] + after.row * _ROW + HEIGHT / 2, 1),
    )


def _written(said: Sequence[str]) -> str:
    return shortened(", ".join(said))
