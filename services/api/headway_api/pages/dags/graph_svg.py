"""A graph of tasks as SVG: boxes in layers, and lines that branch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headway.decide.charts.layout import Layout, Place, layout

WIDTH, HEIGHT = 168, 26
"""Pixels of a box."""

_APART: Final = 56
_ROW: Final = 38
_EDGE: Final = 8
_LETTERS: Final = 22


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A task: its box, and the part of its name that fits into it."""

    task_id: str
    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """Boxes, and one path for the edges of each task."""

    nodes: Sequence[DrawnNode]
    edges: Mapping[str, str]
    width: float
    height: float
    box_width: int = WIDTH
    box_height: int = HEIGHT


def drawn(upstream: Mapping[str, Sequence[str]]) -> DrawnGraph:
    """Return the graph of these tasks, given those right above each of them."""
    found = layout(upstream)
    nodes = [
        DrawnNode(task_id, _label(task_id), _x(place), _y(place))
        for task_id, place in found.places.items()
    ]
    width = found.layers * (WIDTH + _APART) - _APART + 2 * _EDGE
    height = found.rows * _ROW - (_ROW - HEIGHT) + 2 * _EDGE
    return DrawnGraph(nodes, _edges(found), max(width, 0), max(round(height), 0))


def _edges(found: Layout) -> dict[str, str]:
    paths: dict[str, str] = {}
    for segment in found.segments:
        left, right = _x(segment.start) + WIDTH, _x(segment.end)
        start, end = _middle(segment.start), _middle(segment.end)
        bend = (left + right) / 2
        piece = f"M{left:g} {start:g}C{bend:g} {start:g} {bend:g} {end:g} {right:g} {end:g}"
        if segment.target is None:
            piece += f"h{WIDTH}"
        paths[segment.source] = paths.get(segment.source, "") + piece
    return paths


def _label(task_id: str) -> str:
    if len(task_id) <= _LETTERS:
        return task_id
    half = (_LETTERS - 1) // 2
    return f"{task_id[:half]}…{task_id[-(_LETTERS - 1 - half) :]}"


def _x(place: Place) -> float:
    return place.layer * (WIDTH + _APART) + _EDGE


def _y(place: Place) -> float:
    return round(place.row * _ROW + _EDGE, 1)


def _middle(place: Place) -> float:
    return round(place.row * _ROW + _EDGE + HEIGHT / 2, 1)
