"""The attempts of a run over time: waiting hatched, running full, the critical path outlined.

A group has a row above those of its tasks: from when the first of them was to begin to when the
last had ended.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import Final

from headway.actions.dags.outlines import DagOutline
from headway.db.reads.charts.run_times import GanttBar
from headway.decide.charts.outline import OutlineRow
from headway.domain.states import TaskState
from headway_api.native.runs.charts import CriticalPiece
from headway_api.pages.frame.durations import in_words
from headway_api.pages.frame.outline_rows import ShownRow, shown, together

_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200)
_DAY: Final = 86_400
_MOST_TICKS: Final = 8
_LEAST: Final = 0.15
"""Percent of the width that the shortest bar has, or nobody would see it."""


@dataclass(frozen=True, slots=True)
class GanttSpan:
    """A bar: where it begins and how wide it is, in percent of the width, and what it tells."""

    kind: str
    x: float
    width: float
    title: str


@dataclass(frozen=True, slots=True)
class GanttRow:
    """A task instance with all of its attempts, or a group: `row` says how it is called.

    `counts` are the instances in a group by state.
    """

    row: ShownRow
    map_index: int
    spans: Sequence[GanttSpan]
    critical: Sequence[GanttSpan]
    counts: Mapping[TaskState, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GanttGroups:
    """The rows of tasks and groups, what both are called, and how all tasks of groups stand."""

    rows: Sequence[OutlineRow]
    outline: DagOutline
    bars: Sequence[GanttBar]
    states: Mapping[str, Mapping[TaskState, int]]


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of the time since the run has begun."""

    x: float
    text: str


@dataclass(frozen=True, slots=True)
class DrawnGantt:
    """The rows in topological order; `lines` is the path of the ticks in a row 20 high."""

    rows: Sequence[GanttRow]
    ticks: Sequence[Tick]
    lines: str


@dataclass(frozen=True, slots=True)
class _Scale:
    """The time that the width stands for; `seconds` is kept, for each bar needs it twice."""

    start: datetime
    end: datetime
    seconds: float

    def place(self, at: datetime) -> float:
        share = (at - self.start).total_seconds() / self.seconds
        return round(100 * min(max(share, 0.0), 1.0), 3)

    def span(self, kind: str, start: datetime, end: datetime, title: str) -> GanttSpan:
        x = self.place(start)
        return GanttSpan(kind, x, max(round(self.place(end) - x, 3), _LEAST), title)


def drawn(
    bars: Sequence[GanttBar],
    critical: Sequence[CriticalPiece],
    start: datetime,
    end: datetime,
    groups: GanttGroups | None = None,
) -> DrawnGantt:
    """Return the chart of a run from its start to its end, or to the present moment."""
    scale = _Scale(start, max(end, start), max((end - start).total_seconds(), 0.001))
    pieces: dict[tuple[str, int], list[GanttSpan]] = {}
    for piece in critical:
        title = f"critical path, {piece.kind}: {in_words(piece.seconds)}"
        span = scale.span(str(piece.kind), piece.start, piece.end, title)
        pieces.setdefault((piece.task_id, piece.map_index), []).append(span)
    rows = [
        GanttRow(ShownRow(task_id), index, _spans(scale, its), pieces.get((task_id, index), []))
        for (task_id, index), its in _by_instance(bars)
    ]
    if groups is not None:
        rows = list(_outlined(scale, rows, groups, pieces))
    ticks = _ticks(scale.seconds)
    return DrawnGantt(rows, ticks, "".join(f"M{tick.x} 0v20" for tick in ticks))


def _outlined(
    scale: _Scale,
    rows: Sequence[GanttRow],
    groups: GanttGroups,
    pieces: Mapping[tuple[str, int], Sequence[GanttSpan]],
) -> Iterator[GanttRow]:
    instances: dict[str, list[GanttRow]] = {}
    for row in rows:
        instances.setdefault(row.row.task_id, []).append(row)
    for it in groups.rows:
        named = shown(it, groups.outline)
        if not it.tasks:
            yield from (replace(row, row=named) for row in instances.get(it.name, ()))
            continue
        its = set(it.tasks)
        bars = [bar for bar in groups.bars if bar.task_id in its]
        counts = together(groups.states.get(task, {}) for task in it.tasks)
        path = [span for (task, _), spans in pieces.items() if task in its for span in spans]
        spans = list(_group_spans(scale, bars, counts))
        yield GanttRow(named, -1, spans, path if it.folded else [], counts)


def _group_spans(
    scale: _Scale, bars: Sequence[GanttBar], counts: Mapping[TaskState, int]
) -> Iterator[GanttSpan]:
    """Yield how long the first task of a group waited, and then all up to the end of the last."""
    queued = [
        (min(bar.scheduled_at or bar.queued_at, bar.queued_at), bar)
        for bar in bars
        if bar.queued_at
    ]
    if not queued:
        return
    begins = min(at for at, _ in queued)
    started = min((bar.started_at for bar in bars if bar.started_at), default=None)
    if started is None or started > begins:
        waited = in_words(((started or scale.end) - begins).total_seconds())
        yield scale.span("waiting", begins, started or scale.end, f"waited {waited}")
    if started is not None:
        ended = max(bar.ended_at or scale.end for _, bar in queued)
        told = ", ".join(f"{number} {state}".replace("_", " ") for state, number in counts.items())
        took = in_words((ended - started).total_seconds())
        yield scale.span(str(next(iter(counts))), started, ended, f"{told}, {took}")


def _by_instance(bars: Sequence[GanttBar]) -> list[tuple[tuple[str, int], list[GanttBar]]]:
    grouped = groupby(bars, key=lambda bar: (bar.task_id, bar.map_index))
    return [(name, list(its)) for name, its in grouped]


def _spans(scale: _Scale, bars: Sequence[GanttBar]) -> list[GanttSpan]:
    found: list[GanttSpan] = []
    for bar in bars:
        if bar.queued_at is None:
            continue
        begins = bar.scheduled_at if len(bars) == 1 and bar.scheduled_at else bar.queued_at
        started = bar.started_at or bar.ended_at or scale.end
        if started > begins:
            waited = in_words((started - begins).total_seconds())
            found.append(
                scale.span("waiting", begins, started, f"attempt {bar.attempt} waited {waited}")
            )
        if bar.started_at is not None:
            ended = bar.ended_at or scale.end
            took = in_words((ended - bar.started_at).total_seconds())
            outcome = str(bar.outcome or "running")
            title = f"attempt {bar.attempt}: {outcome}, {took}"
            found.append(scale.span(outcome, bar.started_at, ended, title))
    return found


def _ticks(seconds: float) -> list[Tick]:
    step = next((each for each in _STEPS if seconds / each <= _MOST_TICKS), None)
    if step is None:
        step = _DAY * max(1, round(seconds / _DAY / _MOST_TICKS))
    return [
        Tick(round(100 * at / seconds, 3), in_words(at) if at else "0")
        for at in range(0, int(seconds) + 1, step)
    ]
