"""The page of a DAG: its tasks by its latest runs."""

from typing import Annotated, Any, Final

from fastapi import Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.dags import outlines, summaries
from headway.actions.dags.history import check_known
from headway.actions.dags.summaries import VersionSummary
from headway.db.reads import dag_views
from headway.db.reads.pages import file_pages
from headway.db.reads.pages.file_pages import FileFilter
from headway.db.reads.pages.run_pages import RunFilter
from headway.domain.accounts import Permission
from headway.domain.states import RunState, RunType
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.auth.shared_asks import shared_ask
from headway_api.http.caching import tagged
from headway_api.native.dags.grid import MEDIA_TYPE, read_grid
from headway_api.pages.dags.grid_panel import ChosenCell, GridPanel, grid_panel
from headway_api.pages.dags.grid_rows import GridSheet, grid_sheet
from headway_api.pages.dags.grid_svg import ROWS, DrawnGrid, drawn
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

COLUMNS: Final = (25, 100, 365)
"""How many runs a grid may show at once."""


class GridQuery(BaseModel):
    """Which runs and tasks the grid shows; what is empty is any.

    What is in a group that is `folded` has no rows.
    """

    runs: int = Field(25, ge=1, le=1_000)
    state: RunState | str = ""
    type: RunType | str = ""
    task: str = ""
    cursor: str | None = None
    first: int = Field(0, ge=0)
    folded: list[str] = []
    at_run: str = ""
    at_task: str = ""
    to_run: str = ""
    to_task: str = ""

    def corners(self) -> tuple[ChosenCell, ChosenCell]:
        """Return the cell that is chosen, and the one up to which all are."""
        first = ChosenCell(self.at_run, self.at_task)
        return first, ChosenCell(self.to_run or self.at_run, self.to_task or self.at_task)

    def filter(self, dag_id: str) -> RunFilter:
        """Return the runs that are wanted; a state or type that there is none of is any."""
        states, types = set(RunState), set(RunType)
        return RunFilter(
            dag_id=dag_id,
            states=[RunState(self.state)] if self.state in states else None,
            run_types=[RunType(self.type)] if self.type in types else None,
        )


@router.get(addresses.DAGS + "/{dag_id}")
def show_dag(
    request: Request, caller: AnyCaller, dag_id: str, query: Annotated[GridQuery, Query()]
) -> Response:
    """Show the grid of a DAG."""
    ask = shared_ask(request)
    bare = ask is not None and ask.drawn
    context = caller.read(lambda conn: _context(caller, conn, dag_id, query, bare=bare))
    return page(
        request, "dag.html", caller, {**context, "panel": _panel(request, caller, query, context)}
    )


@router.get(addresses.DAGS + "/{dag_id}/cells")
def show_cells(
    request: Request, caller: AnyCaller, dag_id: str, query: Annotated[GridQuery, Query()]
) -> Response:
    """Send the rows of an outlined grid and their cells to the script that draws them."""

    def read(conn: Connection) -> bytes:
        return _sheet(caller, conn, dag_id, query, summaries.in_force(conn, dag_id)).packed()

    return tagged(request, caller.read(read), MEDIA_TYPE)


def _panel(
    request: Request, caller: Caller, query: GridQuery, context: dict[str, Any]
) -> GridPanel | None:
    if not query.at_run or not query.at_task:
        return None
    grid: DrawnGrid = context["grid"]
    runs = [column.run.run_id for column in grid.columns]
    closed = str(request.url.remove_query_params(["at_run", "at_task", "to_run", "to_task"]))
    return grid_panel(caller, query.corners(), runs, grid.sheet, closed)


def _context(
    caller: Caller, conn: Connection, dag_id: str, query: GridQuery, *, bare: bool
) -> dict[str, Any]:
    caller.check_dag(conn, Permission.READ, dag_id)
    dag = dag_views.dag(conn, dag_id)
    if dag is None:
        check_known(conn, dag_id)  # its error names the nearest
    summary = summaries.in_force(conn, dag_id)
    sheet = _sheet(caller, conn, dag_id, query, summary)
    return {
        "dag": dag,
        "summary": summary,
        "problems": file_pages.errors(conn, caller.page(1), FileFilter(dag_id=dag_id)).rows,
        "grid": drawn(sheet, query.first, bare=bare and sheet.total > ROWS),
        "header": sheet.header,
        "cells": _cells(dag_id, query, sheet),
        "outer": outlines.in_force(conn, dag_id).outer if sheet.outlined else [],
        "query": query,
        "sizes": COLUMNS,
        "states": [str(state) for state in RunState],
        "types": [str(kind) for kind in RunType],
    }


def _sheet(
    caller: Caller, conn: Connection, dag_id: str, query: GridQuery, summary: VersionSummary
) -> GridSheet:
    place = query.runs, query.cursor or None
    header, cells = read_grid(conn, caller, place, query.filter(dag_id))
    outline = outlines.in_force(conn, dag_id) if summary.outlined else None
    return grid_sheet(header, cells, query.task, outline, set(query.folded))


def _cells(dag_id: str, query: GridQuery, sheet: GridSheet) -> str:
    """Return where a script finds the cells."""
    cursor, state, run_type = query.cursor or None, query.state or None, query.type or None
    if not sheet.outlined:
        return addresses.cells(
            dag_id, limit=query.runs, cursor=cursor, state=state, run_type=run_type
        )
    return addresses.outlined_cells(
        dag_id,
        runs=query.runs,
        cursor=cursor,
        state=state,
        type=run_type,
        task=query.task or None,
        folded=query.folded,
    )
