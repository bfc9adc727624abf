"""The runs of the last 24 hours over time: a row for each DAG, those with failures first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from headway.db.reads.pages.run_pages import ListedRun
from headway.domain.states import RunState
from headway_api.pages.frame.durations import in_words

DAY: Final = timedelta(days=1)
MOST_DAGS: Final = 20
MARKS: Final = ((0, "24 h ago"), (25, "18 h"), (50, "12 h"), (75, "6 h"), (100, "now"))
"""Percent of the width, and what stands there."""

_LEAST: Final = 0.25
"""Percent of the width that the shortest run has, or nobody would see it."""

_URGENCY: Final = {RunState.FAILED: 0, RunState.RUNNING: 1}


@dataclass(frozen=True, slots=True)
class DayChartBar:
    """A run: where it begins and how wide it is, in percent of the width, and what it tells."""

    run_id: str
    state: RunState
    x: float
    width: float
    title: str


@dataclass(frozen=True, slots=True)
class DayChartRow:
    """A DAG with its runs."""

    dag_id: str
    bars: Sequence[DayChartBar]


@dataclass(frozen=True, slots=True)
class DayChart:
    """The rows that are shown; `more` DAGs had runs, too."""

    rows: Sequence[DayChartRow]
    more: int


def day_chart(runs: Sequence[ListedRun], now: datetime) -> DayChart:
    """Return the chart of these runs, of which each has started."""
    of_dag: dict[str, list[ListedRun]] = {}
    for listed in sorted(runs, key=lambda it: (it.run.started_at or now, it.id)):
        of_dag.setdefault(listed.run.dag_id, []).append(listed)
    urgent = sorted(of_dag, key=lambda dag_id: (_urgency(of_dag[dag_id]), dag_id))
    rows = [
        DayChartRow(dag_id, [_bar(listed, now) for listed in of_dag[dag_id]])
        for dag_id in urgent[:MOST_DAGS]
    ]
    return DayChart(rows, len(urgent) - len(rows))


def _urgency(runs: Sequence[ListedRun]) -> int:
    return min(_URGENCY.get(it.run.state, len(_URGENCY)) for it in runs)


def _bar(listed: ListedRun, now: datetime) -> DayChartBar:
    run = listed.run
    start, end = run.started_at or now, run.ended_at or now
    x = min(_place(start, now), 100 - _LEAST)
    width = max(round(_place(end, now) - x, 3), _LEAST)
    took = in_words(max((end - start).total_seconds(), 0.0))
    return DayChartBar(run.run_id, run.state, x, width, f"{run.run_id}: {run.state}, {took}")


def _place(at: datetime, now: datetime) -> float:
    share = 1 - (now - at) / DAY
    return round(100 * min(max(share, 0.0), 1.0), 3)
