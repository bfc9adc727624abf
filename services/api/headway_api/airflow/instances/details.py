"""Show one task instance and its attempts."""

from dataclasses import replace
from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from headway.db.reads.pages import attempt_pages, task_pages
from headway.db.reads.pages.attempt_pages import InstanceName
from headway.db.reads.pages.paging import MOST_ROWS
from headway.db.reads.pages.task_pages import ListedTask, TaskFilter
from headway.domain.accounts import Permission
from headway.domain.errors import AttemptNotFoundError, TaskNotFoundError
from headway_api.airflow.instances.models import ShownAttempt, ShownAttempts, ShownTaskInstance
from headway_api.airflow.named import PathOfInstance, PathOfTask, run_named
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router(
    "Task Instance", "/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}", errors(404)
)

TryNumber = Annotated[int, Path(ge=0, le=2**31 - 1)]


class IndexQuery(BaseModel):
    """Which instance of a mapped task is meant; -1 is that of a task that is not mapped."""

    model_config = ConfigDict(extra="forbid")

    map_index: int = Field(-1, ge=-1, le=2**31 - 1)


@router.get("")
def get_task_instance(caller: AnyCaller, name: PathOfTask) -> ShownTaskInstance:
    """Show the task instance of a task that is not mapped."""
    return _shown(caller, name)


@router.get("/{map_index:index}")
def get_mapped_task_instance(caller: AnyCaller, name: PathOfInstance) -> ShownTaskInstance:
    """Show an instance of a mapped task."""
    return _shown(caller, name)


@router.get("/tries")
def get_task_instance_tries(
    caller: AnyCaller,
    name: PathOfTask,
    query: Annotated[IndexQuery, Query()],
) -> ShownAttempts:
    """List the attempts of a task instance; of more than 1,000 the last ones."""
    return _attempts(caller, replace(name, map_index=query.map_index))


@router.get("/{map_index:index}/tries")
def get_mapped_task_instance_tries(caller: AnyCaller, name: PathOfInstance) -> ShownAttempts:
    """List the attempts of an instance of a mapped task; of more than 1,000 the last ones."""
    return _attempts(caller, name)


@router.get("/tries/{task_try_number}")
def get_task_instance_try_details(
    caller: AnyCaller,
    name: PathOfTask,
    task_try_number: TryNumber,
    query: Annotated[IndexQuery, Query()],
) -> ShownAttempt:
    """Show an attempt of a task instance."""
    return _attempt(caller, replace(name, map_index=query.map_index), task_try_number)


@router.get("/{map_index:index}/tries/{task_try_number}")
def get_mapped_task_instance_try_details(
    caller: AnyCaller,
    name: PathOfInstance,
    task_try_number: TryNumber,
) -> ShownAttempt:
    """Show an attempt of an instance of a mapped task."""
    return _attempt(caller, name, task_try_number)


def instance_named(caller: Caller, conn: Connection, name: InstanceName) -> ListedTask:
    """Return a task instance; NotFoundError without it."""
    run_named(caller, conn, name.dag_id, name.run_id, Permission.READ)
    found = task_pages.one(conn, caller.bundles, name)
    if found is None:
        raise TaskNotFoundError(_missing(caller, conn, name))
    return found


def _missing(caller: Caller, conn: Connection, name: InstanceName) -> str:
    wanted = TaskFilter(dag_id=name.dag_id, run_id=name.run_id, task_id=name.task_id)
    others = task_pages.page(conn, caller.page(1, descending=True), wanted).rows
    if not others:
        return f"Run {name.run_id} has no instance of task {name.task_id!r}."
    last = others[0].task.map_index
    if last < 0:
        return f"Task {name.task_id!r} has one instance in that run, without a map index."
    return f"Task {name.task_id!r} is mapped: add a map index, of 0 to {last}, to the path."


def _shown(caller: Caller, name: InstanceName) -> ShownTaskInstance:
    found = caller.read(lambda conn: instance_named(caller, conn, name))
    return ShownTaskInstance.of(found)


def _attempts(caller: Caller, name: InstanceName) -> ShownAttempts:
    def read(conn: Connection) -> ShownAttempts:
        it = instance_named(caller, conn, name)
        latest = attempt_pages.page(conn, caller.page(MOST_ROWS, descending=True), name).rows
        shown = [ShownAttempt.of(it, attempt) for attempt in reversed(latest)]
        return ShownAttempts(task_instances=shown, total_entries=it.task.attempt)

    return caller.read(read)


def _attempt(caller: Caller, name: InstanceName, number: int) -> ShownAttempt:
    def read(conn: Connection) -> ShownAttempt:
        it = instance_named(caller, conn, name)
        found = attempt_pages.one(conn, caller.bundles, name, number)
        if found is None:
            raise AttemptNotFoundError(
                f"{it.task.name} has no attempt {number}; its last one is {it.task.attempt}."
            )
        return ShownAttempt.of(it, found)

    return caller.read(read)
