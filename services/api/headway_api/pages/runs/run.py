"""The page of a DAG run; of a failed one, the end of its first failed task's log comes first."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Query, Request
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.dags import outlines, summaries
from headway.actions.dags.outlines import DagOutline
from headway.db.reads import task_views
from headway.db.reads.charts import run_times
from headway.db.reads.charts.run_times import GanttBar
from headway.db.reads.pages import run_pages
from headway.db.reads.pages.paging import MOST_ROWS
from headway.db.reads.pages.run_pages import ListedRun, RunFilter
from headway.db.reads.task_views import AttemptView, TaskHistory, TaskView
from headway.decide.charts.critical_path import PieceKind
from headway.decide.charts.outline import outlined
from headway.domain.accounts import Permission
from headway.domain.states import RunState, TaskState
from headway_api.airflow.named import run_named
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.runs.charts import RunCriticalPath, critical_path_of
from headway_api.native.runs.spark import SparkAttempt, spark_attempt
from headway_api.pages.frame import addresses
from headway_api.pages.frame.durations import in_words
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router
from headway_api.pages.logs.log_end import LogEnd, end_of_log
from headway_api.pages.runs.gantt_svg import DrawnGantt, GanttGroups, drawn

router = page_router()

_TASKS: Final = 200
"""Tasks that the page of a large run shows."""

_URGENCY: Final = {
    state: nth
    for nth, state in enumerate(
        (
            TaskState.FAILED,
            TaskState.RUNNING,
            TaskState.RESTARTING,
            TaskState.UP_FOR_RETRY,
            TaskState.QUEUED,
            TaskState.SCHEDULED,
            TaskState.UPSTREAM_FAILED,
        )
    )
}
_NOTABLE: Final = 0.05
_SPENT: Final = {
    PieceKind.SCHEDULING: "waiting for slots and limits",
    PieceKind.QUEUED: "waiting for a worker",
    PieceKind.RUNNING: "running",
    PieceKind.RETRY: "between attempts",
}


class RunPageQuery(BaseModel):
    """Whether all tasks of a large run are shown, and which groups are folded in the chart."""

    all: bool = False
    folded: list[str] = []


@dataclass(frozen=True, slots=True)
class RunPage:
    """What the page of a run shows: of a large run the tasks that matter most, of `total`.

    `first_failed` is the task that failed first, if any has.  `gantt` is None before the run has
    begun; `length` says what the time of its critical path was spent with.  `spark` has what the
    last attempts of tasks do in Spark, by task and map index; `zone` is the DAG's time zone.
    `outline` has groups, and names of tasks for people, None if there are none.
    `good_version` is the version of the latest run that succeeded, of a run that has failed.
    """

    listed: ListedRun
    seconds: float | None
    tasks: Sequence[TaskHistory]
    total: int
    counts: dict[str, int]
    first_failed: TaskHistory | None
    gantt: DrawnGantt | None
    length: str
    spark: Mapping[tuple[str, int], SparkAttempt]
    zone: str
    outline: DagOutline | None
    good_version: int | None


@router.get(addresses.DAGS + "/{dag_id}/runs/{run_id}")
def show_run(
    request: Request,
    caller: AnyCaller,
    dag_id: str,
    run_id: str,
    query: Annotated[RunPageQuery, Query()],
) -> Response:
    """Show a DAG run; of a large one all tasks only if that is asked for."""
    found = caller.read(lambda conn: _run(caller, conn, (dag_id, run_id), query))
    log = _log(caller, found.first_failed)
    context: dict[str, Any] = {"found": found, "log": log, "query": query}
    return page(request, "run.html", caller, context)


def _run(caller: Caller, conn: Connection, where: tuple[str, str], query: RunPageQuery) -> RunPage:
    listed = run_named(caller, conn, *where, Permission.READ)
    tasks = task_views.tasks(conn, *where)  # before their attempts: who has ended has them all
    counts = Counter(str(it.state) for it in tasks)
    summary = summaries.of_version(conn, listed.version_id)
    outline = outlines.of_version(conn, listed.version_id) if summary.outlined else None
    start, end = listed.run.started_at, listed.run.ended_at
    gantt, length, seconds = None, "", None
    if start is not None:
        path = critical_path_of(conn, listed.run)
        bars, groups = _charted(caller, conn, where, tasks, outline, query)
        gantt = drawn(bars, path.pieces, start, end or path.at, groups)
        length = _length(path)
        seconds = ((end or path.at) - start).total_seconds()
    failed = _first_failed(tasks)
    first = _first(tasks, query.all)
    also = [] if failed is None or failed in first else [failed]
    read = task_views.histories_of(conn, *where, [*first, *also])
    shown = read[: len(first)]
    return RunPage(
        listed,
        seconds,
        shown,
        len(tasks),
        dict(counts.most_common()),
        next((it for it in read if it.task is failed), None),
        gantt,
        length,
        _spark(shown),
        summary.timezone,
        outline,
        None if failed is None else _good_version(caller, conn, listed.run.dag_id),
    )


def _charted(
    caller: Caller,
    conn: Connection,
    where: tuple[str, str],
    tasks: Sequence[TaskView],
    outline: DagOutline | None,
    query: RunPageQuery,
) -> tuple[Sequence[GanttBar], GanttGroups | None]:
    """Return the bars that the chart shows: of many tasks, those in no folded group come first."""
    if outline is None:
        names = {(task.task_id, task.map_index) for task in _first(tasks, query.all)}
        return run_times.gantt(conn, caller.page(MOST_ROWS), *where, names).rows, None
    states = _states(tasks)
    rows = outlined(list(states), outline.groups, set(query.folded))
    open_ = {row.name for row in rows if not row.tasks}
    seen = [task for task in tasks if task.task_id in open_]
    names = {(task.task_id, task.map_index) for task in _first(seen, query.all)}
    bars = run_times.gantt(conn, caller.page(MOST_ROWS), *where).rows  # a group's are its tasks'
    chosen = [bar for bar in bars if (bar.task_id, bar.map_index) in names]
    return chosen, GanttGroups(rows, outline, bars, states)


def _states(tasks: Sequence[TaskView]) -> dict[str, dict[TaskState, int]]:
    found: dict[str, Counter[TaskState]] = {}
    for it in tasks:
        found.setdefault(it.task_id, Counter())[it.state] += 1
    return {task_id: dict(its) for task_id, its in found.items()}


def _first(tasks: Sequence[TaskView], whole: bool) -> Sequence[TaskView]:
    """Return all tasks in their order; of too many those that need a look first."""
    most = MOST_ROWS if whole else _TASKS
    if len(tasks) <= most:
        return tasks
    return sorted(tasks, key=lambda it: _URGENCY.get(it.state, len(_URGENCY)))[:most]


def _good_version(caller: Caller, conn: Connection, dag_id: str) -> int | None:
    succeeded = RunFilter(dag_id=dag_id, states=[RunState.SUCCESS])
    latest = run_pages.page(conn, caller.page(1, descending=True), succeeded).rows
    return latest[0].run.version if latest else None


def _spark(histories: Sequence[TaskHistory]) -> dict[tuple[str, int], SparkAttempt]:
    return {
        (it.task.task_id, it.task.map_index): spark_attempt(it.last)
        for it in histories
        if it.last is not None and it.last.handle is not None
    }


def _length(path: RunCriticalPath) -> str:
    parts = [(kind, seconds) for kind, seconds in path.seconds.items() if seconds > _NOTABLE]
    return ", ".join(f"{in_words(seconds)} {_SPENT[kind]}" for kind, seconds in parts)


def _first_failed(tasks: Sequence[TaskView]) -> TaskView | None:
    failed = [it for it in tasks if it.state is TaskState.FAILED]
    return min(failed, key=lambda it: (it.ended_at is None, it.ended_at), default=None)


def _log(caller: Caller, failed: TaskHistory | None) -> LogEnd | None:
    last: AttemptView | None = None if failed is None else failed.last
    if failed is None or last is None or last.started_at is None:
        return None
    return end_of_log(caller, failed.task, last.attempt)
