"""The attempts of a run over time: waiting hatched, running full, the critical path outlined."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final

from headway.db.reads.charts.run_times import GanttBar
from headway_api.native.runs.charts import CriticalPiece
from headway_api.pages.frame.durations import in_words

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
    """A task instance, with all of its attempts."""

    task_id: str
    map_index: int
    state: str
    spans: Sequence[GanttSpan]
    critical: Sequence[GanttSpan]


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of the time since the run has begun."""

    x: float
    text: str


@dataclass(frozen=True, slots=True)
class DrawnGantt:
    """The rows in topological order."""

    rows: Sequence[GanttRow]
    ticks: Sequence[Tick]


@dataclass(frozen=True, slots=True)
class _Scale:
    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        return max((self.end - self.start).total_seconds(), 0.001)

    def place(self, at: datetime) -> float:
        share = (at - self.start).total_seconds() / self.seconds
        return round(100 * min(max(share, 0.0), 1.0), 3)

    def span(self, kind: str, start: datetime, end: datetime, title: str) -> GanttSpan:
        x = self.place(start)
        return GanttSpan(kind, x, max(round(self.place(end) - x, 3), _LEAST), title)


def drawn(
    bars: Sequence[GanttBar], critical: Sequence[CriticalPiece], start: datetime, end: datetime
) -> DrawnGantt:
    """Return the chart of a run from its start to its end, or to the present moment."""
    scale = _Scale(start, max(end, start))
    pieces: dict[tuple[str, int], list[GanttSpan]] = {}
    for piece in critical:
        title = f"critical path, {piece.kind}: {in_words(piece.seconds)}"
        span = scale.span(str(piece.kind), piece.start, piece.end, title)
        pieces.setdefault((piece.task_id, piece.map_index), []).append(span)
    rows = [
        GanttRow(*name, str(its[0].state), _spans(scale, its), pieces.get(name, []))
        for name, its in _by_instance(bars)
    ]
    return DrawnGantt(rows, _ticks(scale.seconds))


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
