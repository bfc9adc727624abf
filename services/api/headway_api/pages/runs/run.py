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
from headway.db.reads.task_views import AttemptView, TaskHistory
from headway.decide.charts.critical_path import PieceKind
from headway.decide.charts.outline import outlined
from headway.domain.accounts import Permission
from headway.domain.states import RunState, TaskState
from headway_api.airflow.named import run_named
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.runs.charts import RunCriticalPath, read_critical_path
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
    dag_id, run_id = where
    listed = run_named(caller, conn, dag_id, run_id, Permission.READ)
    histories = task_views.histories(conn, dag_id, run_id)
    counts = Counter(str(it.task.state) for it in histories)
    shown = _first(histories, query.all)
    summary = summaries.of_version(conn, listed.version_id)
    outline = outlines.of_version(conn, listed.version_id) if summary.outlined else None
    start, end = listed.run.started_at, listed.run.ended_at
    gantt, length, seconds = None, "", None
    if start is not None:
        path = read_critical_path(caller, conn, dag_id, run_id)
        bars = run_times.gantt(conn, caller.page(MOST_ROWS), dag_id, run_id).rows
        chosen, groups = _charted(histories, bars, outline, query)
        gantt = drawn(chosen, path.pieces, start, end or path.at, groups)
        length = _length(path)
        seconds = ((end or path.at) - start).total_seconds()
    failed = _first_failed(histories)
    counted = dict(counts.most_common())
    good = _good_version(caller, conn, dag_id) if failed is not None else None
    return RunPage(
        listed,
        seconds,
        shown,
        len(histories),
        counted,
        failed,
        gantt,
        length,
        _spark(shown),
        summary.timezone,
        outline,
        good,
    )


def _charted(
    histories: Sequence[TaskHistory],
    bars: Sequence[GanttBar],
    outline: DagOutline | None,
    query: RunPageQuery,
) -> tuple[list[GanttBar], GanttGroups | None]:
    """Return the bars that the chart shows: of many tasks, those in no folded group come first."""
    groups = None
    seen = histories
    if outline is not None:
        states = _states(histories)
        rows = outlined(list(states), outline.groups, set(query.folded))
        groups = GanttGroups(rows, outline, bars, states)
        open_ = {row.name for row in rows if not row.tasks}
        seen = [it for it in histories if it.task.task_id in open_]
    names = {(it.task.task_id, it.task.map_index) for it in _first(seen, query.all)}
    return [bar for bar in bars if (bar.task_id, bar.map_index) in names], groups


def _states(histories: Sequence[TaskHistory]) -> dict[str, dict[TaskState, int]]:
    found: dict[str, Counter[TaskState]] = {}
    for it in histories:
        found.setdefault(it.task.task_id, Counter())[it.task.state] += 1
    return {task_id: dict(its) for task_id, its in found.items()}


def _first(histories: Sequence[TaskHistory], whole: bool) -> Sequence[TaskHistory]:
    """Return all tasks in their order; of too many those that need a look first."""
    most = MOST_ROWS if whole else _TASKS
    if len(histories) <= most:
        return histories
    return sorted(histories, key=lambda it: _URGENCY.get(it.task.state, len(_URGENCY)))[:most]


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


def _first_failed(histories: Sequence[TaskHistory]) -> TaskHistory | None:
    failed = [it for it in histories if it.task.state is TaskState.FAILED]
    return min(failed, key=_ended, default=None)


def _ended(it: TaskHistory) -> tuple[bool, Any]:
    return it.task.ended_at is None, it.task.ended_at


def _log(caller: Caller, failed: TaskHistory | None) -> LogEnd | None:
    last: AttemptView | None = None if failed is None else failed.last
    if failed is None or last is None or last.started_at is None:
        return None
    return end_of_log(caller, failed.task, last.attempt)
