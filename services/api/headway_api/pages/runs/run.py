"""The page of a DAG run; of a failed one, the end of its first failed task's log comes first."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.db.reads import task_views
from headway.db.reads.charts import run_times
from headway.db.reads.pages.paging import MOST_ROWS
from headway.db.reads.pages.run_pages import ListedRun
from headway.db.reads.task_views import AttemptView, TaskHistory
from headway.decide.charts.critical_path import PieceKind
from headway.domain.accounts import Permission
from headway.domain.states import TaskState
from headway_api.airflow.named import run_named
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.runs.charts import RunCriticalPath, read_critical_path
from headway_api.pages.frame import addresses
from headway_api.pages.frame.durations import in_words
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router
from headway_api.pages.logs.log_end import LogEnd, end_of_log
from headway_api.pages.runs.gantt_svg import DrawnGantt, drawn

router = page_router()

_NOTABLE: Final = 0.05
_SPENT: Final = {
    PieceKind.SCHEDULING: "waiting for slots and limits",
    PieceKind.QUEUED: "waiting for a worker",
    PieceKind.RUNNING: "running",
    PieceKind.RETRY: "between attempts",
}


@dataclass(frozen=True, slots=True)
class RunPage:
    """What the page of a run shows.

    `first_failed` is the task that failed first, if any has.  `gantt` is None before the run has
    begun; `length` says what the time of its critical path was spent with.
    """

    listed: ListedRun
    seconds: float | None
    tasks: Sequence[TaskHistory]
    counts: dict[str, int]
    first_failed: TaskHistory | None
    gantt: DrawnGantt | None
    length: str


@router.get(addresses.DAGS + "/{dag_id}/runs/{run_id}")
def show_run(request: Request, caller: AnyCaller, dag_id: str, run_id: str) -> Response:
    """Show a DAG run."""
    found = caller.read(lambda conn: _run(caller, conn, dag_id, run_id))
    context: dict[str, Any] = {"found": found, "log": _log(caller, found.first_failed)}
    return page(request, "run.html", caller, context)


def _run(caller: Caller, conn: Connection, dag_id: str, run_id: str) -> RunPage:
    listed = run_named(caller, conn, dag_id, run_id, Permission.READ)
    histories = task_views.histories(conn, dag_id, run_id)
    counts = Counter(str(it.task.state) for it in histories)
    start, end = listed.run.started_at, listed.run.ended_at
    gantt, length, seconds = None, "", None
    if start is not None:
        path = read_critical_path(caller, conn, dag_id, run_id)
        bars = run_times.gantt(conn, caller.page(MOST_ROWS), dag_id, run_id).rows
        gantt, length = drawn(bars, path.pieces, start, end or path.at), _length(path)
        seconds = ((end or path.at) - start).total_seconds()
    failed = _first_failed(histories)
    counted = dict(counts.most_common())
    return RunPage(listed, seconds, histories, counted, failed, gantt, length)


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
