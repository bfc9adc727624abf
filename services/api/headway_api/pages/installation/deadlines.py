"""The deadlines of runs and their tasks."""

from typing import Annotated, Final, Literal

from fastapi import Query, Request
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from headway.db.reads import deadline_views
from headway.db.reads.deadline_views import DeadlineView
from headway.db.reads.pages.paging import Asked, ListPage
from headway.domain.accounts import Permission
from headway.domain.states import DeadlineState
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.access import check_named_run
from headway_api.pages.frame import addresses
from headway_api.pages.frame.exports import ExportFormat, exported
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_PAGE: Final = 100


class DeadlinesQuery(BaseModel):
    """Which deadlines are wanted; what is empty is any."""

    dag: str = ""
    state: DeadlineState | Literal[""] = ""
    cursor: str | None = None


@router.get(addresses.DEADLINES)
def show_deadlines(
    request: Request, caller: AnyCaller, query: Annotated[DeadlinesQuery, Query()]
) -> Response:
    """List deadlines, those of the latest runs first."""
    caller.require(Permission.READ)
    asked = caller.page(_PAGE, query.cursor or None)
    found = caller.read(lambda conn: _deadlines(caller, conn, query, asked))
    states = [str(state) for state in DeadlineState]
    context = {"found": found, "query": query, "states": states}
    return page(request, "deadlines.html", caller, context)


@router.get(addresses.DEADLINES + ".{form}")
def export_deadlines(
    request: Request,
    caller: AnyCaller,
    form: ExportFormat,
    query: Annotated[DeadlinesQuery, Query()],
) -> Response:
    """Send the deadlines that the page lists."""

    def read(conn: Connection, asked: Asked) -> ListPage[DeadlineView]:
        return _deadlines(caller, conn, query, asked)

    return exported(request, caller, form, DeadlineView, read)


def _deadlines(
    caller: Caller, conn: Connection, query: DeadlinesQuery, asked: Asked
) -> ListPage[DeadlineView]:
    dag_id = query.dag or None
    check_named_run(caller, conn, dag_id, None)
    return deadline_views.page(conn, asked, dag_id, None, query.state or None)
