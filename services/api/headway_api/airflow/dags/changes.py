"""Pause and unpause DAGs, delete them, and have their files parsed."""

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from headway.actions.dags import delete
from headway.actions.dags.pause import set_paused
from headway.db.core import notices
from headway.db.reads.pages import dag_pages
from headway.domain.accounts import Permission
from headway.domain.errors import RequestError
from headway_api.airflow import listing
from headway_api.airflow.dags.details import shown_dag
from headway_api.airflow.dags.listing import DagNames, shown_dags
from headway_api.airflow.dags.models import DagPatch, ShownDag, ShownDags, dag_of_token
from headway_api.airflow.named import DagId, dag_of
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.auth.changing import DryRun, changed
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("DAG")


class DagPatchQuery(BaseModel):
    """Which fields of the body count, of which there is one, and whether it is a rehearsal."""

    model_config = ConfigDict(extra="forbid")

    update_mask: list[Literal["is_paused"]] = Field([])
    dry_run: DryRun = False


class DagsPatchQuery(DagNames, DagPatchQuery):
    """Which DAGs to change: those of one page, of at most 1,000."""


@router.patch("/dags/{dag_id}", response_model=ShownDag, responses=errors(404, 409))
def patch_dag(
    caller: AnyCaller,
    request: Request,
    dag_id: DagId,
    body: DagPatch,
    query: Annotated[DagPatchQuery, Query()],
) -> Response:
    """Pause a DAG, or unpause it."""

    def work(conn: Connection) -> ShownDag:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        set_paused(conn, dag_id, caller.actor, paused=body.is_paused)
        return shown_dag(conn, dag_of(caller, conn, dag_id, Permission.OPERATE))

    return changed(caller, request, work, asked=body, dry_run=query.dry_run)


@router.patch("/dags", response_model=ShownDags, responses=errors(404, 409))
def patch_dags(
    caller: AnyCaller,
    request: Request,
    body: DagPatch,
    query: Annotated[DagsPatchQuery, Query()],
) -> Response:
    """Pause the DAGs of a page of the list, or unpause them; a pattern must say which.

    `dag_id_pattern=~` is every DAG that a file defines and the account may see.
    """
    if query.dag_id_pattern is None and query.dag_id_prefix_pattern is None and not query.tags:
        raise RequestError("Say which DAGs: give dag_id_pattern, which may be `~`, or tags.")
    if not query.exclude_stale:
        raise RequestError("A DAG that no file defines is neither paused nor unpaused.")

    def work(conn: Connection) -> ShownDags:
        caller.require(Permission.OPERATE)
        return _set_paused(caller, conn, query, paused=body.is_paused)

    return changed(caller, request, work, asked=body, dry_run=query.dry_run)


@router.delete("/dags/{dag_id}", status_code=204, responses=errors(404, 409))
def delete_dag(caller: AnyCaller, dag_id: DagId, dry_run: DryRun = False) -> Response:
    """Delete a DAG with its runs and versions; one that a file defines starts again without them.

    It is deleted in parts.  Whatever interrupts that, the request may be sent again.
    """

    def begin(conn: Connection) -> None:
        caller.check_dag(conn, Permission.ADMINISTER, dag_id)
        delete.begin_deletion(conn, dag_id, caller.author(), anyway=True)

    caller.change(begin, dry_run=dry_run)
    if not dry_run:
        while caller.change(lambda conn: delete.continue_deletion(conn, dag_id), [notices.PARSER]):
            pass
    return Response(status_code=HTTPStatus.NO_CONTENT)


@router.put(
    "/parseDagFile/{file_token}", status_code=201, responses=errors(404), tags=["DAG Parsing"]
)
def reparse_dag_file(
    caller: AnyCaller, request: Request, file_token: str, dry_run: DryRun = False
) -> Response:
    """Have the file of a DAG parsed soon, even if it has not changed."""
    dag_id = dag_of_token(file_token)

    def work(conn: Connection) -> None:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        delete.reparse(conn, dag_id, caller.author())

    return changed(
        caller, request, work, status=HTTPStatus.CREATED, dry_run=dry_run, tell=[notices.PARSER]
    )


def _set_paused(caller: Caller, conn: Connection, query: DagNames, *, paused: bool) -> ShownDags:
    wanted = query.filter()
    # Read before the change: a filter by what is changed would not find them again.
    page = listing.shown(
        caller,
        query,
        lambda asked: dag_pages.page(conn, asked, wanted),
        lambda: dag_pages.total(conn, caller.bundles, wanted),
        descending=False,
    )
    rows = page.rows
    for row in rows:
        set_paused(conn, row.dag.dag_id, caller.actor, paused=paused)
    changed_rows = [dag_of(caller, conn, row.dag.dag_id, Permission.READ) for row in rows]
    return ShownDags(
        dags=shown_dags(conn, changed_rows),
        total_entries=page.total_entries,
        total_entries_limit=page.total_entries_limit,
    )
