"""The page of a task instance: why it does not run, and all its attempts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal, NamedTuple

from fastapi import Depends, Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.dags import summaries
from headway.db.reads import task_views
from headway.db.reads.task_views import TaskHistory, TaskView
from headway.domain.accounts import Permission
from headway.domain.dag.mapping import MAX_MAP_LENGTH
from headway.domain.errors import TaskNotFoundError
from headway.domain.states import TERMINAL, TaskState
from headway_api.airflow.named import run_named
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.runs.explain import ExplanationView, read_explanation
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router
from headway_api.pages.logs.log_end import LogEnd, end_of_log
from headway_api.pages.runs.task_results import task_results

router = page_router()

_PAGE: Final = 100
"""Instances of a mapped task that are listed at a time."""

_NOT_MAPPED: Final = -1
"""The map index of the one instance of a task that is not mapped."""

_PATH = addresses.DAGS + "/{dag_id}/runs/{run_id}/tasks/{task_id}"


class TaskName(NamedTuple):
    """The names in the address of a task in a run."""

    dag_id: str
    run_id: str
    task_id: str


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
    """A task in a run: its instances by state, and what is shown of the one if it is not mapped."""

    counts: Mapping[TaskState, int]
    bundle: str
    zone: str
    one: TaskPage | None


@dataclass(frozen=True, slots=True)
class Instances:
    """Instances of a mapped task by map index; `following` is the first that is not shown."""

    rows: Sequence[TaskView]
    following: int | None


class InstancesQuery(BaseModel):
    """Which instances of a mapped task are wanted; an empty state is any."""

    state: TaskState | Literal[""] = ""
    first: int = Field(default=0, ge=0, le=MAX_MAP_LENGTH)


@router.get(_PATH)
def show_task(
    request: Request,
    caller: AnyCaller,
    name: Annotated[TaskName, Depends()],
    query: Annotated[InstancesQuery, Query()],
) -> Response:
    """Show a task instance; of a mapped task, the list of its instances."""
    found = task_in_run(caller, *name)
    if found.one is not None:
        return _page(request, caller, found, found.one)
    shown = caller.read(lambda conn: _instances(conn, name, query))
    context = {"found": found, "shown": shown, "query": query, **name._asdict()}
    return page(request, "mapped.html", caller, context)


@router.get(_PATH + "/{map_index:int}")
def show_instance(
    request: Request, caller: AnyCaller, name: Annotated[TaskName, Depends()], map_index: int
) -> Response:
    """Show an instance of a mapped task."""
    found, history = caller.read(lambda conn: _task(caller, conn, name, map_index))
    if history is None:
        raise TaskNotFoundError(f"Task {name.task_id!r} has no instance {map_index} in this run.")
    return _page(request, caller, found, _one(caller, found.bundle, history))


def _page(request: Request, caller: Caller, found: TaskInRun, one: TaskPage) -> Response:
    results = caller.read(lambda conn: task_results(caller, conn, one.history.task))
    context = {"found": one, "zone": found.zone, "results": results}
    return page(request, "task.html", caller, context)


def task_in_run(caller: Caller, dag_id: str, run_id: str, task_id: str) -> TaskInRun:
    """Return what is shown of a task in a run; TaskNotFoundError if the run has no such task."""
    name = TaskName(dag_id, run_id, task_id)
    found, history = caller.read(lambda conn: _task(caller, conn, name, _NOT_MAPPED))
    return found if history is None else replace(found, one=_one(caller, found.bundle, history))


def _task(
    caller: Caller, conn: Connection, name: TaskName, map_index: int
) -> tuple[TaskInRun, TaskHistory | None]:
    listed = run_named(caller, conn, name.dag_id, name.run_id, Permission.READ)
    counts = task_views.states(conn, *name)
    if not counts:
        raise TaskNotFoundError(f"Run {name.run_id!r} has no task {name.task_id!r}.")
    zone = summaries.in_force(conn, name.dag_id).timezone
    history = task_views.history(conn, *name, map_index)
    return TaskInRun(counts, listed.bundle, zone, None), history


def _instances(conn: Connection, name: TaskName, query: InstancesQuery) -> Instances:
    found = task_views.instances(conn, name, query.state or None, query.first, _PAGE + 1)
    following = found[_PAGE].map_index if len(found) > _PAGE else None
    return Instances(found[:_PAGE], following)


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
