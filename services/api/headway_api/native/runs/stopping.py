"""Cancel a run, or a task of it."""

from fastapi import Request, Response
from sqlalchemy import Connection

from headway.actions.runs.cancel import cancel_run as end_run
from headway.actions.runs.cancel import cancel_tasks
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller
from headway_api.auth.changing import DryRun, changed
from headway_api.http.documented import errors
from headway_api.http.routers import native_router
from headway_api.native.runs.changes import MapIndex, Reasoned, RunChanged, told

router = native_router("runs")


class CancelTask(Reasoned):
    """Which instance of a task is to be cancelled, and why."""

    map_index: MapIndex = None


@router.post(
    "/runs/{dag_id}/{run_id}/cancel", response_model=RunChanged, responses=errors(404, 409)
)
def cancel_run(
    dag_id: str,
    run_id: str,
    caller: AnyCaller,
    request: Request,
    body: Reasoned | None = None,
    dry_run: DryRun = False,
) -> Response:
    """End a run as failed: running tasks are stopped, tasks that have not begun are skipped."""
    wanted = body or Reasoned()

    def work(conn: Connection) -> RunChanged:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        done = end_run(conn, dag_id, run_id, caller.author(wanted.reason))
        return told(conn, (dag_id, run_id), done)

    return changed(caller, request, work, asked=wanted, dry_run=dry_run)


@router.post(
    "/tasks/{dag_id}/{run_id}/{task_id}/cancel",
    response_model=RunChanged,
    responses=errors(404, 409),
)
def cancel_task(  # noqa: PLR0913, PLR0917 - a task has an address of three parts
    dag_id: str,
    run_id: str,
    task_id: str,
    caller: AnyCaller,
    request: Request,
    body: CancelTask | None = None,
    dry_run: DryRun = False,
) -> Response:
    """End a task of a run: if it runs it is stopped and fails, otherwise it is skipped."""
    wanted = body or CancelTask()

    def work(conn: Connection) -> RunChanged:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        author = caller.author(wanted.reason)
        done = cancel_tasks(conn, (dag_id, run_id), [task_id], wanted.map_index, author)
        return told(conn, (dag_id, run_id), done)

    return changed(caller, request, work, asked=wanted, dry_run=dry_run)
