"""The page of a task instance: why it does not run, and all its attempts."""

from dataclasses import dataclass
from typing import Any

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.db.reads import task_views
from headway.db.reads.task_views import TaskHistory
from headway.domain.accounts import Permission
from headway.domain.errors import TaskNotFoundError
from headway.domain.states import TERMINAL
from headway_api.airflow.named import run_named
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.runs.explain import ExplanationView, read_explanation
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router
from headway_api.pages.logs.log_end import LogEnd, end_of_log

router = page_router()

_PATH = addresses.DAGS + "/{dag_id}/runs/{run_id}/tasks/{task_id}"


@dataclass(frozen=True, slots=True)
class TaskPage:
    """What the page of a task instance shows; `why` is None once the instance has ended."""

    history: TaskHistory
    bundle: str
    why: ExplanationView | None


@router.get(_PATH)
def show_task(
    request: Request, caller: AnyCaller, dag_id: str, run_id: str, task_id: str
) -> Response:
    """Show a task instance; of a mapped task, the list of its instances."""
    bundle, found = caller.read(lambda conn: _instances(caller, conn, dag_id, run_id, task_id))
    if len(found) == 1 and found[0].task.map_index < 0:
        return _one(request, caller, bundle, found[0])
    name = {"dag_id": dag_id, "run_id": run_id, "task_id": task_id}
    return page(request, "mapped.html", caller, {"found": found, **name})


@router.get(_PATH + "/{map_index:int}")
def show_instance(
    request: Request, caller: AnyCaller, dag_id: str, run_id: str, task_id: str, map_index: int
) -> Response:
    """Show an instance of a mapped task."""
    bundle, found = caller.read(lambda conn: _instances(caller, conn, dag_id, run_id, task_id))
    wanted = next((it for it in found if it.task.map_index == map_index), None)
    if wanted is None:
        raise TaskNotFoundError(f"Task {task_id!r} has no instance {map_index} in this run.")
    return _one(request, caller, bundle, wanted)


def _instances(
    caller: Caller, conn: Connection, dag_id: str, run_id: str, task_id: str
) -> tuple[str, list[TaskHistory]]:
    listed = run_named(caller, conn, dag_id, run_id, Permission.READ)
    found = [it for it in task_views.histories(conn, dag_id, run_id) if it.task.task_id == task_id]
    if not found:
        raise TaskNotFoundError(f"Run {run_id!r} has no task {task_id!r}.")
    return listed.bundle, found


def _one(request: Request, caller: Caller, bundle: str, history: TaskHistory) -> Response:
    task, last = history.task, history.last
    why: ExplanationView | None = None
    if task.state not in TERMINAL:
        index = None if task.map_index < 0 else task.map_index
        name = task.dag_id, task.run_id, task.task_id, index
        why = caller.read(lambda conn: read_explanation(caller, conn, *name))
    log: LogEnd | None = None
    if last is not None and last.started_at is not None:
        log = end_of_log(caller, task, last.attempt)
    context: dict[str, Any] = {"found": TaskPage(history, bundle, why), "log": log}
    return page(request, "task.html", caller, context)
