"""Runs of all DAGs."""

from typing import Annotated, Final, Literal

from fastapi import Query, Request
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from headway.db.reads.pages import paging, run_pages
from headway.db.reads.pages.paging import Asked, ListPage
from headway.db.reads.pages.run_pages import ListedRun, RunFilter
from headway.domain.accounts import Permission
from headway.domain.states import RunState, RunType
from headway_api.auth.caller import AnyCaller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.exports import ExportFormat, exported
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_PAGE: Final = 50


class RunsQuery(BaseModel):
    """Which runs are wanted; what is empty is any."""

    dag: str = ""
    state: RunState | Literal[""] = ""
    type: RunType | Literal[""] = ""
    cursor: str | None = None

    def filter(self) -> RunFilter:
        """Return the runs that are wanted."""
        return RunFilter(
            dag_id_like=paging.contains(self.dag) if self.dag else None,
            states=[self.state] if self.state else None,
            run_types=[self.type] if self.type else None,
        )


@router.get(addresses.RUNS)
def show_runs(
    request: Request, caller: AnyCaller, query: Annotated[RunsQuery, Query()]
) -> Response:
    """List runs, the one that was created last first."""
    caller.require(Permission.READ)
    asked = caller.page(_PAGE, query.cursor or None, descending=True)
    found = caller.read(lambda conn: run_pages.page(conn, asked, query.filter()))
    context = {
        "found": found,
        "query": query,
        "states": [str(state) for state in RunState],
        "types": [str(kind) for kind in RunType],
    }
    return page(request, "runs.html", caller, context)


@router.get(addresses.RUNS + ".{form}")
def export_runs(
    request: Request, caller: AnyCaller, form: ExportFormat, query: Annotated[RunsQuery, Query()]
) -> Response:
    """Send the runs that the page lists."""

    def read(conn: Connection, asked: Asked) -> ListPage[ListedRun]:
        return run_pages.page(conn, asked, query.filter())

    return exported(request, caller, form, ListedRun, read, descending=True)
