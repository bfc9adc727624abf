"""Say what a task instance waits for."""

from dataclasses import replace
from typing import Annotated, Final

from fastapi import Query
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.explain.explain import ExplainRequest, explain
from headway.db.core.server import now
from headway.db.reads.pages.attempt_pages import InstanceName
from headway.decide.explain.explanation import Explanation, Reason
from headway.domain.accounts import Permission
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_api.airflow.instances.details import IndexQuery
from headway_api.airflow.named import PathOfInstance, PathOfTask, run_named
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router(
    "Task Instance", "/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}", errors(404)
)

_HOLDS_NOTHING: Final = frozenset({Reason.RUNNING, Reason.STOPPING, Reason.ENDED})


class ShownDependency(BaseModel):
    """Something that a task instance waits for: a word for it, and a sentence."""

    name: str
    reason: str


class ShownDependencies(BaseModel):
    """What a task instance waits for, and what that waits for in turn; nothing when it runs."""

    dependencies: list[ShownDependency]


@router.get("/dependencies")
def get_task_instance_dependencies(
    caller: AnyCaller,
    name: PathOfTask,
    query: Annotated[IndexQuery, Query()],
) -> ShownDependencies:
    """Say why a task instance does not run yet."""
    return _explained(caller, replace(name, map_index=query.map_index))


@router.get("/{map_index:index}/dependencies")
def get_task_instance_dependencies_by_map_index(
    caller: AnyCaller, name: PathOfInstance
) -> ShownDependencies:
    """Say why an instance of a mapped task does not run yet."""
    return _explained(caller, name)


def _explained(caller: Caller, name: InstanceName) -> ShownDependencies:
    settings = read(SchedulerSettings)

    def look(conn: Connection) -> Explanation:
        run_named(caller, conn, name.dag_id, name.run_id, Permission.READ)
        index = None if name.map_index < 0 else name.map_index
        wanted = ExplainRequest(name.dag_id, name.run_id, name.task_id, index)
        return explain(conn, wanted, settings, now(conn))

    return ShownDependencies(dependencies=_shown(caller.read(look)))


def _shown(told: Explanation | None) -> list[ShownDependency]:
    """Return the reasons, each followed by what explains it."""
    found: list[ShownDependency] = []
    while told is not None and told.reason not in _HOLDS_NOTHING:
        of = f"{told.subject.name}: " if found and told.subject is not None else ""
        found.append(ShownDependency(name=told.reason, reason=f"{of}{told.sentence}"))
        told = told.because
    return found
