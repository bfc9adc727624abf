"""Service processes, and the draining of workers."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.installation.workers import drain_worker
from headway.db.core.notices import Notice
from headway.db.reads.pages import process_pages
from headway.db.reads.pages.paging import ListPage
from headway.db.reads.pages.process_pages import ListedProcess, ProcessFilter
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller
from headway_api.auth.changing import DryRun, changed
from headway_api.http import lists
from headway_api.http.documented import errors
from headway_api.http.lists import STREAMED, AnyList, Listed
from headway_api.http.routers import native_router
from headway_api.native.access import BigId, require_every_bundle
from headway_api.native.runs.changes import Reasoned

router = native_router("processes")


class ProcessReport(BaseModel):
    """A service process; `ended_at` is null until it has ended.

    Of a worker: its queues, its slots, since when it drains, `running` attempts, and in `report`
    what its machine has left.
    """

    id: int
    kind: str
    hostname: str
    pid: int
    version: str
    queues: list[str]
    slots: int
    started_at: datetime
    beat_at: datetime
    ended_at: datetime | None
    drain_requested_at: datetime | None
    report: dict[str, Any] | None
    running: int


class Drained(BaseModel):
    """A worker takes no more attempts, and ends when those that it has are done."""

    id: int
    draining: bool


@router.get("/processes", response_model=Listed[ProcessReport], responses=STREAMED)
def list_processes(
    caller: AnyCaller,
    request: Request,
    query: AnyList,
    kind: Annotated[
        str | None, Query(description="Only worker, scheduler, backfill, parser or api processes.")
    ] = None,
    ended: Annotated[
        bool | None, Query(description="Only processes that have ended, or have not.")
    ] = False,
) -> Response:
    """List service processes with their heartbeats: by default those that have not ended.

    An account that is limited to some bundles may not see them.
    """
    require_every_bundle(caller, "The list of processes")
    wanted = ProcessFilter(kind=kind, ended=ended)

    def read(limit: int, cursor: str | None) -> ListPage[ProcessReport]:
        asked = caller.page(limit, cursor)
        page = caller.read(lambda conn: process_pages.page(conn, asked, wanted))
        return ListPage([_view(each) for each in page.rows], page.following)

    return lists.answer(request, query, ProcessReport, read)


@router.post("/processes/{process_id}/drain", response_model=Drained, responses=errors(404, 409))
def drain_process(
    process_id: BigId,
    caller: AnyCaller,
    request: Request,
    body: Reasoned | None = None,
    dry_run: DryRun = False,
) -> Response:
    """Have a worker take no more attempts, finish those that it has, and end."""
    caller.require(Permission.ADMINISTER)
    wanted = body or Reasoned()

    def work(conn: Connection) -> Drained:
        drain_worker(conn, process_id, caller.author(wanted.reason))
        return Drained(id=process_id, draining=True)

    tell: tuple[Notice, ...] = ()
    return changed(caller, request, work, asked=wanted, dry_run=dry_run, tell=tell)


def _view(listed: ListedProcess) -> ProcessReport:
    return ProcessReport(**asdict(listed.process), ended_at=listed.ended_at)
