"""Mark a run, or tasks of it."""

from enum import StrEnum

from fastapi import Request, Response
from pydantic import Field
from sqlalchemy import Connection

from headway.actions.runs.mark import Marking, mark_run, mark_tasks
from headway.domain.accounts import Permission
from headway.domain.errors import RequestError
from headway.domain.states import RunState, TaskState
from headway_api.auth.caller import AnyCaller
from headway_api.auth.changing import DryRun, changed
from headway_api.http.documented import errors
from headway_api.http.routers import native_router
from headway_api.native.runs.changes import MapIndex, Reasoned, RunChanged, TaskIds, told

router = native_router("runs")


class MarkedState(StrEnum):
    """What tasks may be marked as; a run cannot be marked as skipped."""

    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"


class MarkRun(Reasoned):
    """What is marked, and as what: the tasks in `tasks`, or the run itself if it is empty.

    With `downstream`, failed tasks below the marked ones are cleared, unless these are marked as
    failed.
    """

    state: MarkedState = Field(alias="as")
    tasks: TaskIds = Field(default_factory=list)
    map_index: MapIndex = None
    downstream: bool = True


@router.post("/runs/{dag_id}/{run_id}/mark", response_model=RunChanged, responses=errors(404, 409))
def mark(
    dag_id: str,
    run_id: str,
    body: MarkRun,
    caller: AnyCaller,
    request: Request,
    dry_run: DryRun = False,
) -> Response:
    """Mark a run, or tasks of it, as what they are to count as.

    A running task is told to stop first.  If tasks of a run are marked that has ended, the run is
    queued again.
    """
    if not body.tasks and (body.state is MarkedState.SKIPPED or body.map_index is not None):
        raise RequestError("Only tasks can be marked as skipped, or by a map_index; name them.")

    def work(conn: Connection) -> RunChanged:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        author = caller.author(body.reason)
        if not body.tasks:
            done = mark_run(conn, dag_id, run_id, RunState(body.state), author)
        else:
            state = TaskState(body.state)
            marking = Marking(body.tasks, state, body.map_index, body.downstream)
            done = mark_tasks(conn, dag_id, run_id, marking, author)
        return told(conn, (dag_id, run_id), done)

    return changed(caller, request, work, asked=body, dry_run=dry_run)
