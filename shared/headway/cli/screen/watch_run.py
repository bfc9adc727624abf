"""Watch a run until it ends: a live view with bars on a terminal, lines elsewhere."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.exc import DBAPIError

from headway.actions.lookup import run_of
from headway.cli.input.session import user_url
from headway.cli.screen import spark_figures
from headway.cli.screen.output import COLOURS
from headway.db.core import engine as engines
from headway.db.core.engine import is_transient
from headway.db.reads import spark_views, views
from headway.domain.states import UNFINISHED_RUN, TaskState
from headway.runtime.daemon.clock import SystemClock

if TYPE_CHECKING:
    from rich.table import Table

INTERVAL: Final = 0.5
"""Seconds between two looks."""

MOST_ROWS: Final = 30
"""Task instances that a terminal shows; those that run come first."""

_BAR: Final = 30
_ENDED: Final = frozenset(
    {
        *(TaskState.SUCCESS, TaskState.FAILED, TaskState.SKIPPED),
        *(TaskState.UPSTREAM_FAILED, TaskState.REMOVED),
    }
)
_FIRST: Final = (TaskState.RUNNING, TaskState.QUEUED, TaskState.FAILED)


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A run as it stands: its state, its task instances, and what the running ones do in Spark."""

    dag_id: str
    run_id: str
    state: str
    tasks: Sequence[Mapping[str, Any]]
    spark: Mapping[tuple[str, int], Mapping[str, Any]]

    @property
    def ended(self) -> bool:
        """Whether the run has ended."""
        return self.state not in UNFINISHED_RUN


def watch_run(dag_id: str, run_id: str) -> str:
    """Show a run until it has ended; return its state.  A database that is away is waited for."""
    sights = _follow(dag_id, run_id, user_url())
    return _live(sights) if sys.stdout.isatty() else _lines(sights)


def line(sight: WatchedRun) -> str:
    """Return how a run stands in one line, with what its running tasks do in Spark."""
    states = Counter(str(task["state"]) for task in sight.tasks)
    ended = sum(number for state, number in states.items() if state in _ENDED)
    counted = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    said = [f"{sight.state}: {ended}/{len(sight.tasks)} tasks ended ({counted})"]
    for task in sight.tasks:
        work = sight.spark.get((task["task_id"], task["map_index"]))
        told = spark_figures.told(work, ended=False)
        if task["state"] == TaskState.RUNNING and told:
            said.append(f"{_name(task)} {told}")
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
    for task in shown:
        work = sight.spark.get((task["task_id"], task["map_index"]))
        state = str(task["state"])
        found.add_row(
            Text(_name(task)),
            Text(state, style=COLOURS.get(state, "")),
            str(task["attempt"]),
            _bar(work),
            Text(spark_figures.told(work, ended=state != TaskState.RUNNING) or ""),
        )
    return found


def _bar(work: Mapping[str, Any] | None) -> Any:
    from rich.progress_bar import ProgressBar

    progress = work and work["progress"]
    if not progress:
        return ""
    return ProgressBar(progress["tasks"], progress["tasks_done"], width=_BAR)


def _follow(dag_id: str, run_id: str, url: str) -> Iterator[WatchedRun]:
    engine = engines.connect(url, name="headway watch", pool_size=1)
    clock, never = SystemClock(), Event()
    try:
        while True:
            try:
                with engine.connect() as conn:
                    run = run_of(conn, dag_id, run_id)
                    tasks = views.tasks(conn, dag_id, run_id)
                    work = spark_views.of_run(conn, dag_id, run_id)
            except DBAPIError as error:
                if not is_transient(error):
                    raise
            else:
                current = {(it["task_id"], it["map_index"]): it["attempt"] for it in tasks}
                spark = {
                    (it["task_id"], it["map_index"]): it
                    for it in work
                    if current[it["task_id"], it["map_index"]] == it["attempt"]
                }
                sight = WatchedRun(dag_id, run_id, str(run["state"]), tasks, spark)
                yield sight
                if sight.ended:
                    return
            clock.wait(never, INTERVAL)
    finally:
        engine.dispose()


def _live(sights: Iterator[WatchedRun]) -> str:
    from rich.live import Live

    state = ""
    with Live(refresh_per_second=4) as live:
        for sight in sights:
            live.update(table(sight))
            state = sight.state
    return state


def _lines(sights: Iterator[WatchedRun]) -> str:
    said, state = "", ""
    for sight in sights:
        now, state = line(sight), sight.state
        if now != said:
            print(now, flush=True)
            said = now
    return state


def _name(task: Mapping[str, Any]) -> str:
    name = str(task["task_id"])
    return name if task["map_index"] < 0 else f"{name}[{task['map_index']}]"


def _place(task: Mapping[str, Any]) -> int:
    return _FIRST.index(task["state"]) if task["state"] in _FIRST else len(_FIRST)
