"""Clear a run, or tasks of it."""

from fastapi import Request, Response
from pydantic import Field
from sqlalchemy import Connection

from headway.actions.runs.clear import clear_tasks
from headway.decide.changes.clear import Selection
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller
from headway_api.auth.changing import DryRun, changed
from headway_api.http.documented import errors
from headway_api.http.routers import native_router
from headway_api.native.runs.changes import MapIndex, Reasoned, RunChanged, TaskIds, told

router = native_router("runs")


class ClearRun(Reasoned):
    """Which tasks of a run are to run again: those in `tasks`, or all of them if it is empty.

    With `downstream`, all tasks below them are included.  With `only_failed`, only tasks that are
    failed or upstream_failed.  `version` is `own`, `latest` or the number of a version.
    """

    tasks: TaskIds = Field(default_factory=list)
    map_index: MapIndex = None
    downstream: bool = True
    only_failed: bool = False
    version: str = Field(default="own", max_length=20)


@router.post("/runs/{dag_id}/{run_id}/clear", response_model=RunChanged, responses=errors(404, 409))
def clear_run(
    dag_id: str,
    run_id: str,
    caller: AnyCaller,
    request: Request,
    body: ClearRun | None = None,
    dry_run: DryRun = False,
) -> Response:
    """Run tasks of a run again, with all their retries.

    A running task is told to stop first.  A run that has ended is queued again.
    """
    wanted = body or ClearRun()
    selection = Selection(wanted.tasks, wanted.map_index, wanted.downstream, wanted.only_failed)

    def work(conn: Connection) -> RunChanged:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        author = caller.author(wanted.reason)
        done = clear_tasks(conn, dag_id, run_id, selection, author, wanted.version)
        return told(conn, (dag_id, run_id), done)

    return changed(caller, request, work, asked=wanted, dry_run=dry_run)
