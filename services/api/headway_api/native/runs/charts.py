"""Charts of a run: its attempts over time, and the path that its length comes from."""

from collections.abc import Sequence
from datetime import datetime

from fastapi import Request, Response
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.dags.history import graph_of_run
from headway.actions.lookup import run_of
from headway.db.core.server import now
from headway.db.reads.charts import run_times
from headway.db.reads.charts.run_times import GanttBar
from headway.db.reads.pages.paging import ListPage
from headway.db.reads.run_views import RunView
from headway.decide.charts.critical_path import (
    PathPiece,
    PieceKind,
    TimedTask,
    critical_path,
    indexes_in_groups,
    seconds_by_kind,
)
from headway.domain.accounts import Permission
from headway.domain.errors import SerializationError
from headway.domain.states import RunState
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http import lists
from headway_api.http.documented import errors
from headway_api.http.lists import STREAMED, AnyList, Listed
from headway_api.http.routers import native_router

router = native_router("runs")


class CriticalPiece(BaseModel):
    """A part of a critical path, which begins where the part before it ends.

    Of a piece of the kind `scheduling`, `pool` is what it may have waited for; of the kind
    `queued` it is `queue`.  `attempt` is null where none was queued yet.
    """

    task_id: str
    map_index: int
    attempt: int | None
    kind: PieceKind
    start: datetime
    end: datetime
    seconds: float
    pool: str
    queue: str


class RunCriticalPath(BaseModel):
    """The chain of waiting and running that the length of a run comes from.

    `seconds` says how long it takes by what it is spent with.  Of a run that goes on, the path
    ends at the time `at`.  There are no pieces before the run has begun.
    """

    dag_id: str
    run_id: str
    state: RunState
    at: datetime
    pieces: list[CriticalPiece]
    seconds: dict[PieceKind, float]


@router.get(
    "/runs/{dag_id}/{run_id}/gantt",
    response_model=Listed[GanttBar],
    responses={**errors(404), **STREAMED},
)
def list_gantt(
    dag_id: str, run_id: str, caller: AnyCaller, request: Request, query: AnyList
) -> Response:
    """List the attempts of a run with the times at which they were queued, started and ended.

    A task instance that has had no attempt is listed once.
    """

    def read(conn: Connection, limit: int, cursor: str | None) -> ListPage[GanttBar]:
        caller.check_dag(conn, Permission.READ, dag_id)
        run_of(conn, dag_id, run_id)
        return run_times.gantt(conn, caller.page(limit, cursor), dag_id, run_id)

    return lists.answer(
        request,
        query,
        GanttBar,
        lambda limit, cursor: caller.read(lambda conn: read(conn, limit, cursor)),
    )


@router.get("/runs/{dag_id}/{run_id}/critical-path", responses=errors(404))
def show_critical_path(dag_id: str, run_id: str, caller: AnyCaller) -> RunCriticalPath:
    """Show the longest chain of waiting and running through the dependencies of a run."""
    return caller.read(lambda conn: read_critical_path(caller, conn, dag_id, run_id))


def read_critical_path(
    caller: Caller, conn: Connection, dag_id: str, run_id: str
) -> RunCriticalPath:
    """Return the critical path of a run; NotFoundError without the run."""
    caller.check_dag(conn, Permission.READ, dag_id)
    return critical_path_of(conn, run_of(conn, dag_id, run_id))


def critical_path_of(conn: Connection, run: RunView) -> RunCriticalPath:
    """Return the critical path of a run, which was read before."""
    timed, at = _timed(conn, run), now(conn)
    found = [] if run.started_at is None else critical_path(timed, run.started_at, at)
    return RunCriticalPath(
        dag_id=run.dag_id,
        run_id=run.run_id,
        state=run.state,
        at=at,
        pieces=_pieces(found, timed),
        seconds=dict(seconds_by_kind(found)),
    )


def _timed(conn: Connection, run: RunView) -> list[TimedTask]:
    """Return the tasks of a run; of those in a mapped group the instances of one map index."""
    timed = run_times.timed_tasks(conn, run.dag_id, run.run_id)
    if all(task.map_index < 0 for task in timed):
        return timed
    try:
        groups = graph_of_run(conn, run.dag_id, run.run_id).graph.mapped_groups
    except SerializationError:  # a version that this release cannot read
        return timed
    if not groups:
        return timed
    indexes = indexes_in_groups(timed, groups)
    return run_times.timed_tasks(conn, run.dag_id, run.run_id, indexes)


def _pieces(found: Sequence[PathPiece], timed: Sequence[TimedTask]) -> list[CriticalPiece]:
    tasks = {task.task_id: task for task in timed}
    return [
        CriticalPiece(
            task_id=piece.task_id,
            map_index=piece.map_index,
            attempt=piece.attempt,
            kind=piece.kind,
            start=piece.start,
            end=piece.end,
            seconds=piece.seconds,
            pool=tasks[piece.task_id].pool,
            queue=tasks[piece.task_id].queue,
        )
        for piece in found
    ]
