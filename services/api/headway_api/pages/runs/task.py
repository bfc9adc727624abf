"""The page of a task instance: why it does not run, and all its attempts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.dags import summaries
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
from headway_api.pages.runs.task_results import task_results

router = page_router()

_PATH = addresses.DAGS + "/{dag_id}/runs/{run_id}/tasks/{task_id}"


@dataclass(frozen=True, slots=True)
class TaskPage:
    """What is shown of a task instance; `why` is None once the instance has ended.

    `log` is the end of the last attempt's, None before one has started.
    """

    history: TaskHistory
    bundle: str
    why: ExplanationView | None
    log: LogEnd | None


@dataclass(frozen=True, slots=True)
class TaskInRun:
    """A task in a run: all its instances, and what is shown of the one if it is not mapped."""

    instances: Sequence[TaskHistory]
    bundle: str
    zone: str
    one: TaskPage | None


@router.get(_PATH)
def show_task(
    request: Request, caller: AnyCaller, dag_id: str, run_id: str, task_id: str
) -> Response:
    """Show a task instance; of a mapped task, the list of its instances."""
    found = task_in_run(caller, dag_id, run_id, task_id)
    if found.one is not None:
        return _page(request, caller, found, found.one)
    name = {"dag_id": dag_id, "run_id": run_id, "task_id": task_id}
    return page(request, "mapped.html", caller, {"found": found.instances, **name})


@router.get(_PATH + "/{map_index:int}")
def show_instance(
    request: Request, caller: AnyCaller, dag_id: str, run_id: str, task_id: str, map_index: int
) -> Response:
    """Show an instance of a mapped task."""
    found = caller.read(lambda conn: _task(caller, conn, dag_id, run_id, task_id))
    wanted = next((it for it in found.instances if it.task.map_index == map_index), None)
    if wanted is None:
        raise TaskNotFoundError(f"Task {task_id!r} has no instance {map_index} in this run.")
    return _page(request, caller, found, _one(caller, found.bundle, wanted))


def _page(request: Request, caller: Caller, found: TaskInRun, one: TaskPage) -> Response:
    results = caller.read(lambda conn: task_results(caller, conn, one.history.task))
    context = {"found": one, "zone": found.zone, "results": results}
    return page(request, "task.html", caller, context)


def task_in_run(caller: Caller, dag_id: str, run_id: str, task_id: str) -> TaskInRun:
    """Return what is shown of a task in a run; TaskNotFoundError if the run has no such task."""
    found = caller.read(lambda conn: _task(caller, conn, dag_id, run_id, task_id))
    if len(found.instances) == 1 and found.instances[0].task.map_index < 0:
        return replace(found, one=_one(caller, found.bundle, found.instances[0]))
    return found


def _task(caller: Caller, conn: Connection, dag_id: str, run_id: str, task_id: str) -> TaskInRun:
    listed = run_named(caller, conn, dag_id, run_id, Permission.READ)
    found = [it for it in task_views.histories(conn, dag_id, run_id) if it.task.task_id == task_id]
    if not found:
        raise TaskNotFoundError(f"Run {run_id!r} has no task {task_id!r}.")
    return TaskInRun(found, listed.bundle, summaries.in_force(conn, dag_id).timezone, None)


def _one(caller: Caller, bundle: str, history: TaskHistory) -> TaskPage:
    task, last = history.task, history.last
    why: ExplanationView | None = None
    if task.state not in TERMINAL:
        index = None if task.map_index < 0 else task.map_index
        name = task.dag_id, task.run_id, task.task_id, index
        why = caller.read(lambda conn: read_explanation(caller, conn, *name))
    log: LogEnd | None = None
    if last is not None and last.started_at is not None:
        log = end_of_log(caller, task, last.attempt)
    return TaskPage(history, bundle, why, log)
