"""The page of a DAG run; of a failed one, the end of its first failed task's log comes first."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.db.core.server import now
from headway.db.reads import task_views
from headway.db.reads.pages.run_pages import ListedRun
from headway.db.reads.task_views import AttemptView, TaskHistory
from headway.domain.accounts import Permission
from headway.domain.states import TaskState
from headway_api.airflow.named import run_named
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages import addresses
from headway_api.pages.log_end import LogEnd, end_of_log
from headway_api.pages.rendering import page
from headway_api.pages.routing import page_router

router = page_router()


@dataclass(frozen=True, slots=True)
class RunPage:
    """What the page of a run shows; `first_failed` is the task that failed first, if any has."""

    listed: ListedRun
    seconds: float | None
    tasks: Sequence[TaskHistory]
    counts: dict[str, int]
    first_failed: TaskHistory | None


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
    seconds = None if start is None else ((end or now(conn)) - start).total_seconds()
    return RunPage(listed, seconds, histories, dict(counts.most_common()), _first_failed(histories))


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
