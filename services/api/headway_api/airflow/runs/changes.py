"""Mark a run, clear it, delete it."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.delete import delete_run
from headway.actions.runs.mark import mark_run
from headway.actions.runs.version_choice import LATEST, OWN
from headway.decide.changes.clear import Selection
from headway.domain.accounts import Permission
from headway.domain.errors import RequestError
from headway.domain.states import RunState
from headway_api.airflow.instances.affected import of_run, would_change
from headway_api.airflow.named import DagId, RunId, run_named
from headway_api.airflow.runs.models import RehearsedClear, ShownRun
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.auth.changing import DryRun, changed
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("DagRun")

Note = Annotated[str, Field(max_length=1000, description="The reason that the journal tells.")]


class RunPatch(BaseModel):
    """What to mark a run as; one that has not ended is ended."""

    model_config = ConfigDict(extra="forbid")

    state: RunState | None = None
    note: Note | None = None

    def target(self) -> RunState:
        """Return what to mark the run as; RequestError when nothing can be done."""
        if self.state is None:
            raise RequestError(
                "Give the state. A run has no notes; one that is given with a state is the reason "
                "that the journal tells."
            )
        if self.state not in {RunState.SUCCESS, RunState.FAILED}:
            raise RequestError(
                f"A run is marked success or failed, not {self.state}. Clear it to have it run "
                "again: POST to its path with /clear."
            )
        return self.state


class RunPatchQuery(BaseModel):
    """Which fields of the body count: the state alone, or with its reason."""

    model_config = ConfigDict(extra="forbid")

    update_mask: list[Literal["state", "note"]] = Field([])
    dry_run: DryRun = False


class RunClear(BaseModel):
    """What to clear of a run; nothing is, unless `dry_run` is false."""

    model_config = ConfigDict(extra="forbid")

    dry_run: bool = True
    only_failed: bool = False
    only_new: Literal[False] = False
    run_on_latest_version: bool | None = None
    note: Note | None = None


@router.patch(
    "/dags/{dag_id}/dagRuns/{dag_run_id}", response_model=ShownRun, responses=errors(404, 409)
)
def patch_dag_run(
    caller: AnyCaller,
    request: Request,
    dag_id: DagId,
    dag_run_id: RunId,
    body: RunPatch,
    query: Annotated[RunPatchQuery, Query()],
) -> Response:
    """Mark a run as success or failed; what still runs of it is told to stop."""
    state = body.target()
    if query.update_mask and "state" not in query.update_mask:
        raise RequestError("A run has no notes: update_mask must name the state.")

    def work(conn: Connection) -> ShownRun:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        mark_run(conn, dag_id, dag_run_id, state, caller.author(body.note))
        return _shown(caller, conn, dag_id, dag_run_id)

    return changed(caller, request, work, asked=body, dry_run=query.dry_run)


@router.delete("/dags/{dag_id}/dagRuns/{dag_run_id}", status_code=204, responses=errors(404, 409))
def delete_dag_run(
    caller: AnyCaller, request: Request, dag_id: DagId, dag_run_id: RunId, dry_run: DryRun = False
) -> Response:
    """Delete a run with its task instances; 409 while one of them runs."""

    def work(conn: Connection) -> None:
        caller.check_dag(conn, Permission.ADMINISTER, dag_id)
        delete_run(conn, dag_id, dag_run_id, caller.author())

    return changed(caller, request, work, status=HTTPStatus.NO_CONTENT, dry_run=dry_run)


@router.post(
    "/dags/{dag_id}/dagRuns/{dag_run_id}/clear",
    response_model=ShownRun | RehearsedClear,
    responses=errors(404, 409),
)
def clear_dag_run(
    caller: AnyCaller, request: Request, dag_id: DagId, dag_run_id: RunId, body: RunClear
) -> Response | RehearsedClear:
    """Have a run run again, or what has failed of it; a dry run shows the task instances."""
    clear = _clearing(caller, dag_id, dag_run_id, body)
    if body.dry_run:
        return RehearsedClear.of(would_change(caller, of_run(dag_id, dag_run_id, clear)))

    def work(conn: Connection) -> ShownRun:
        clear(conn)
        return _shown(caller, conn, dag_id, dag_run_id)

    return changed(caller, request, work, asked=body)


def _clearing(
    caller: Caller, dag_id: str, run_id: str, body: RunClear
) -> Callable[[Connection], object]:
    selection = Selection(only_failed=body.only_failed)
    version = LATEST if body.run_on_latest_version else OWN

    def clear(conn: Connection) -> object:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        return clear_tasks(conn, dag_id, run_id, selection, caller.author(body.note), version)

    return clear


def _shown(caller: Caller, conn: Connection, dag_id: str, run_id: str) -> ShownRun:
    return ShownRun.of(run_named(caller, conn, dag_id, run_id, Permission.OPERATE))
