"""The deadlines of runs and their tasks."""

from typing import Annotated

from fastapi import Query, Request, Response
from sqlalchemy import Connection

from headway.db.reads import deadline_views
from headway.db.reads.deadline_views import DeadlineView
from headway.db.reads.pages.paging import ListPage
from headway.domain.states import DeadlineState
from headway_api.auth.caller import AnyCaller
from headway_api.http import lists
from headway_api.http.documented import errors
from headway_api.http.lists import STREAMED, AnyList, Listed
from headway_api.http.routers import native_router
from headway_api.native.access import OfDag, OfRun, check_named_run

router = native_router("runs")


@router.get(
    "/deadlines", response_model=Listed[DeadlineView], responses={**errors(404), **STREAMED}
)
def list_deadlines(
    caller: AnyCaller,
    request: Request,
    query: AnyList,
    dag_id: OfDag = None,
    run_id: OfRun = None,
    state: Annotated[DeadlineState | None, Query(description="Only those in this state.")] = None,
) -> Response:
    """List deadlines, those of the latest runs first. A deadline of a run has no task."""

    def read(conn: Connection, limit: int, cursor: str | None) -> ListPage[DeadlineView]:
        check_named_run(caller, conn, dag_id, run_id)
        return deadline_views.page(conn, caller.page(limit, cursor), dag_id, run_id, state)

    return lists.answer(
        request,
        query,
        DeadlineView,
        lambda limit, cursor: caller.read(lambda conn: read(conn, limit, cursor)),
    )
