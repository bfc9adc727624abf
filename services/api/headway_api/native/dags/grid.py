"""The grid of a DAG: tasks by runs, a byte a cell."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Final

from fastapi import Query, Request, Response
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.dags.history import check_known
from headway.db.reads.charts import grid_cells
from headway.db.reads.pages import run_pages
from headway.db.reads.pages.run_pages import ListedRun, RunFilter, RunOrder
from headway.decide.charts.grid import CODED, MAPPED, RETRIED, MappedCell, column
from headway.domain.accounts import Permission
from headway.domain.states import RunState, RunType, TaskState
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.caching import tagged
from headway_api.http.documented import errors
from headway_api.http.routers import native_router
from headway_api.native.dags.ended_columns import EndedColumns, RunColumn, keys_of

router = native_router("DAGs")

MEDIA_TYPE: Final = "application/vnd.headway.grid"
LENGTH_BYTES: Final = 4
MOST_CELLS: Final = 250_000
"""Cells that one statement reads, at most, if a run does not have more."""

_ENDED: Final = EndedColumns()

Runs = Annotated[int, Query(ge=1, le=1_000, description="Runs at most, the latest dates first.")]
Cursor = Annotated[str | None, Query(description="The `next_cursor` of the runs before.")]
States = Annotated[list[RunState] | None, Query(description="Only runs in these states.")]
RunTypes = Annotated[list[RunType] | None, Query(description="Only runs of these types.")]
OfBackfill = Annotated[int | None, Query(description="Only the runs of this backfill.")]


class GridTask(BaseModel):
    """A row of a grid."""

    task_id: str
    mapped: bool


class GridColumn(BaseModel):
    """A run of a grid; `started_at` is null while it is queued, `ended_at` until it has ended."""

    run_id: str
    run_type: RunType
    state: RunState
    logical_date: datetime
    started_at: datetime | None
    ended_at: datetime | None
    version: int
    backfill_id: int | None


class GridShares(BaseModel):
    """How many instances of a mapped task are in each state; row and column count from 0."""

    row: int
    column: int
    states: dict[TaskState, int]


class GridHeader(BaseModel):
    """The rows and columns of a grid, and what the bytes of its cells mean.

    The lower four bits of a byte are an index of `states`, where 0 stands for no instance.  The
    byte has `retried` added if an instance was tried again, and `several` if the task is mapped
    and has been expanded: it shows the most telling state then, and `mapped` has them all.
    """

    dag_id: str
    rows: list[GridTask]
    columns: list[GridColumn]
    mapped: list[GridShares]
    states: list[TaskState | None]
    retried: int
    several: int
    next_cursor: str | None


@router.get(
    "/dags/{dag_id}/grid",
    responses={**errors(404), 200: {"content": {MEDIA_TYPE: {}}}},
    response_class=Response,
)
def show_grid(  # noqa: PLR0913, PLR0917 - each is a filter
    dag_id: str,
    caller: AnyCaller,
    request: Request,
    limit: Runs = 100,
    cursor: Cursor = None,
    state: States = None,
    run_type: RunTypes = None,
    backfill_id: OfBackfill = None,
) -> Response:
    """Show how tasks stand in runs, in binary form.

    The first four bytes are a number N, the highest byte first.  N bytes follow, which are the
    JSON of `grid/columns`.  Then each column follows with a byte for each row.
    """
    wanted = _filter(dag_id, state, run_type, backfill_id)
    header, cells = caller.read(lambda conn: read_grid(conn, caller, (limit, cursor), wanted))
    text = header.model_dump_json().encode()
    body = len(text).to_bytes(LENGTH_BYTES, "big") + text + cells
    return tagged(request, body, MEDIA_TYPE)


@router.get("/dags/{dag_id}/grid/columns", responses=errors(404))
def show_grid_columns(  # noqa: PLR0913, PLR0917 - each is a filter
    dag_id: str,
    caller: AnyCaller,
    limit: Runs = 100,
    cursor: Cursor = None,
    state: States = None,
    run_type: RunTypes = None,
    backfill_id: OfBackfill = None,
) -> GridHeader:
    """Show the rows and columns of a grid, and what the bytes of its cells mean."""
    wanted = _filter(dag_id, state, run_type, backfill_id)
    return caller.read(lambda conn: read_grid(conn, caller, (limit, cursor), wanted)[0])


def _filter(
    dag_id: str,
    states: Sequence[RunState] | None,
    run_types: Sequence[RunType] | None,
    backfill_id: int | None,
) -> RunFilter:
    return RunFilter(dag_id=dag_id, states=states, run_types=run_types, backfill_id=backfill_id)


def read_grid(
    conn: Connection, caller: Caller, place: tuple[int, str | None], wanted: RunFilter
) -> tuple[GridHeader, bytes]:
    """Return a grid's header, and its cells column by column, each with a byte for each row."""
    assert wanted.dag_id is not None
    asked = caller.page(*place, descending=True)
    page = run_pages.page(conn, asked, wanted, RunOrder.LOGICAL_DATE)
    if not page.rows:  # a DAG with runs that the caller sees is there
        caller.check_dag(conn, Permission.READ, wanted.dag_id)
        check_known(conn, wanted.dag_id)
    versions = sorted({run.version_id for run in page.rows})
    rows = grid_cells.rows(conn, wanted.dag_id, versions)
    task_ids = [row.task_id for row in rows]
    columns = _columns(conn, page.rows, task_ids)
    header = GridHeader(
        dag_id=wanted.dag_id,
        rows=[GridTask(task_id=row.task_id, mapped=row.mapped) for row in rows],
        columns=[_column(run) for run in page.rows],
        mapped=[
            share
            for nth, run in enumerate(page.rows)
            for share in _shares(task_ids, nth, columns[run.id].mapped)
        ],
        states=[None, *CODED],
        retried=RETRIED,
        several=MAPPED,
        next_cursor=page.following,
    )
    return header, b"".join(columns[run.id].cells for run in page.rows)


def _columns(
    conn: Connection, runs: Sequence[ListedRun], task_ids: Sequence[str]
) -> dict[int, RunColumn]:
    """Return the columns of all runs; those that have ended are read once.

    No statement reads so many cells that it takes too long.  What one of them has read is
    remembered, so a client that asks again after a failure gets further.
    """
    keys = keys_of(runs, task_ids)
    columns = _ENDED.known(keys)
    missing = [run.id for run in runs if run.id not in columns]
    at_once = max(MOST_CELLS // max(len(task_ids), 1), 1)
    for first in range(0, len(missing), at_once):
        found = _read(conn, missing[first : first + at_once], task_ids)
        _ENDED.remember(keys, found)
        columns |= found
    return columns


def _read(
    conn: Connection, run_ids: Sequence[int], task_ids: Sequence[str]
) -> dict[int, RunColumn]:
    packed = grid_cells.packed(conn, run_ids, task_ids, RETRIED)
    mapped = grid_cells.mapped(conn, run_ids)
    return {
        run: RunColumn(column(task_ids, packed.get(run), mapped.get(run, {})), mapped.get(run, {}))
        for run in run_ids
    }


def _column(listed: ListedRun) -> GridColumn:
    run = listed.run
    return GridColumn(
        run_id=run.run_id,
        run_type=run.run_type,
        state=run.state,
        logical_date=run.logical_date,
        started_at=run.started_at,
        ended_at=run.ended_at,
        version=run.version,
        backfill_id=run.backfill_id,
    )


def _shares(task_ids: Sequence[str], nth: int, cells: Mapping[str, MappedCell]) -> list[GridShares]:
    return [
        GridShares(row=task_ids.index(task_id), column=nth, states=dict(cell.states))
        for task_id, cell in cells.items()
        if task_id in task_ids
    ]
