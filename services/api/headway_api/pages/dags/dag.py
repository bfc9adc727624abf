"""The page of a DAG: its tasks by its latest runs."""

from typing import Annotated, Any, Final

from fastapi import Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.dags import summaries
from headway.actions.dags.history import check_known
from headway.db.reads import dag_views
from headway.db.reads.pages import file_pages
from headway.db.reads.pages.file_pages import FileFilter
from headway.db.reads.pages.run_pages import RunFilter
from headway.domain.accounts import Permission
from headway.domain.states import RunState, RunType
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.dags.grid import read_grid
from headway_api.pages.dags.grid_panel import ChosenCell, GridPanel, grid_panel
from headway_api.pages.dags.grid_svg import DrawnGrid, drawn
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

COLUMNS: Final = (25, 100, 365)
"""How many runs a grid may show at once."""


class GridQuery(BaseModel):
    """Which runs and tasks the grid shows; what is empty is any."""

    runs: int = Field(25, ge=1, le=1_000)
    state: RunState | str = ""
    type: RunType | str = ""
    task: str = ""
    cursor: str | None = None
    first: int = Field(0, ge=0)
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
    context = caller.read(lambda conn: _context(caller, conn, dag_id, query))
    return page(
        request, "dag.html", caller, {**context, "panel": _panel(request, caller, query, context)}
    )


def _panel(
    request: Request, caller: Caller, query: GridQuery, context: dict[str, Any]
) -> GridPanel | None:
    if not query.at_run or not query.at_task:
        return None
    grid: DrawnGrid = context["grid"]
    runs = [column.run.run_id for column in grid.columns]
    closed = str(request.url.remove_query_params(["at_run", "at_task", "to_run", "to_task"]))
    return grid_panel(caller, context["dag"].dag_id, query.corners(), runs, grid.tasks, closed)


def _context(caller: Caller, conn: Connection, dag_id: str, query: GridQuery) -> dict[str, Any]:
    caller.check_dag(conn, Permission.READ, dag_id)
    check_known(conn, dag_id)
    place = query.runs, query.cursor or None
    header, cells = read_grid(conn, caller, place, query.filter(dag_id))
    return {
        "dag": dag_views.dag(conn, dag_id),
        "summary": summaries.in_force(conn, dag_id),
        "problems": file_pages.errors(conn, caller.page(1), FileFilter(dag_id=dag_id)).rows,
        "grid": drawn(header, cells, query.task, query.first),
        "header": header,
        "cells": addresses.cells(
            dag_id,
            limit=query.runs,
            cursor=query.cursor or None,
            state=query.state or None,
            run_type=query.type or None,
        ),
        "query": query,
        "sizes": COLUMNS,
        "states": [str(state) for state in RunState],
        "types": [str(kind) for kind in RunType],
    }
