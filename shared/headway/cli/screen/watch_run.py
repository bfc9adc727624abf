"""Watch a run until it ends: a live view with bars on a terminal, lines elsewhere."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from headway.actions.lookup import run_of
from headway.cli.input.polling import polled
from headway.cli.screen import spark_figures
from headway.cli.screen.output import COLOURS
from headway.db.reads import task_views
from headway.db.reads.run_views import RunView
from headway.db.reads.task_views import TaskProgress
from headway.domain.states import TERMINAL, TaskState
from headway.runtime.daemon.clock import SystemClock

if TYPE_CHECKING:
    from rich.table import Table

    from headway.cli.input.session import Transaction

INTERVAL: Final = 0.5
"""Seconds between two looks."""

MOST_ROWS: Final = 30
"""Task instances that a terminal shows; those that run come first."""

_BAR: Final = 30
_FIRST: Final = (TaskState.RUNNING, TaskState.QUEUED, TaskState.FAILED)


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A run, and its task instances with what their current attempts do in Spark."""

    run: RunView
    tasks: Sequence[TaskProgress]


def watch_run(dag_id: str, run_id: str) -> str:
    """Show a run until it has ended; return its state.  A database that is away is waited for."""
    sights = _follow(dag_id, run_id)
    return _live(sights) if sys.stdout.isatty() else _lines(sights)


def line(sight: WatchedRun) -> str:
    """Return how a run stands in one line, with what its running tasks do in Spark."""
    states = Counter(str(progress.task.state) for progress in sight.tasks)
    ended = sum(number for state, number in states.items() if state in TERMINAL)
    counted = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    said = [f"{sight.run.state}: {ended}/{len(sight.tasks)} tasks ended ({counted})"]
    for progress in sight.tasks:
        told = spark_figures.told(progress.progress, progress.figures, ended=False)
        if progress.task.state is TaskState.RUNNING and told:
            said.append(f"{progress.task.name} {told}")
    return " | ".join(said)


def table(sight: WatchedRun) -> "Table":
    """Return the view of a run: a row for each task instance, a bar where Spark tells of tasks."""
    from rich.table import Table
    from rich.text import Text

    shown = sorted(sight.tasks, key=_place)[:MOST_ROWS]
    left_out = len(sight.tasks) - len(shown)
    caption = f"and {left_out} task instances more" if left_out else None
    found = Table(title=line(sight).partition(" | ")[0], caption=caption, title_justify="left")
    for column in ("task", "state", "attempt", "Spark", ""):
        found.add_column(column)
    for progress in shown:
        ended = progress.task.state is not TaskState.RUNNING
        found.add_row(
            Text(progress.task.name),
            Text(progress.task.state, style=COLOURS.get(progress.task.state, "")),
            str(progress.task.attempt),
            _bar(progress.progress),
            Text(spark_figures.told(progress.progress, progress.figures, ended=ended) or ""),
        )
    return found


def _bar(progress: Mapping[str, Any] | None) -> Any:
    from rich.progress_bar import ProgressBar

    if not progress:
        return ""
    return ProgressBar(progress["tasks"], progress["tasks_done"], width=_BAR)


def _follow(dag_id: str, run_id: str) -> Iterator[WatchedRun]:
    def look(conn: "Transaction") -> WatchedRun:
        return WatchedRun(run_of(conn, dag_id, run_id), task_views.progress(conn, dag_id, run_id))

    clock, never = SystemClock(), Event()
    with polled("headway watch") as database:
        while True:
            sight = database.look(look)
            if sight is not None:
                yield sight
                if sight.run.ended:
                    return
            clock.wait(never, INTERVAL)


def _live(sights: Iterator[WatchedRun]) -> str:
    from rich.live import Live

    state = ""
    with Live(refresh_per_second=4) as live:
        for sight in sights:
            live.update(table(sight))
            state = sight.run.state
    return state


def _lines(sights: Iterator[WatchedRun]) -> str:
    said, state = "", ""
    for sight in sights:
        now, state = line(sight), sight.run.state
        if now != said:
            print(now, flush=True)
            said = now
    return state


def _place(it: TaskProgress) -> int:
    return _FIRST.index(it.task.state) if it.task.state in _FIRST else len(_FIRST)
