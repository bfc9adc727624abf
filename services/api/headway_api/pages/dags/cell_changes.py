"""Clear or mark the cells of a grid that are chosen: the same tasks of several runs."""

from typing import Annotated, Final

from fastapi import Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.change import RunChange
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.mark import Marking, mark_tasks
from headway.actions.runs.several import change_several
from headway.actions.sentences import told_together
from headway.decide.changes.clear import Selection
from headway.domain.accounts import Permission
from headway.domain.errors import NotFoundError
from headway.domain.states import TaskState
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.confirming import PageChange, carried_out, rehearsed
from headway_api.pages.frame.routing import Form, page_router

router = page_router()

_PATH: Final = addresses.DAGS + "/{dag_id}/cells/{change}"
_MARKS: Final = {"mark-success": TaskState.SUCCESS, "mark-failed": TaskState.FAILED}
_VERBS: Final = {
    "clear": "Clear",
    "mark-success": "Mark as success",
    "mark-failed": "Mark as failed",
}


class Cells(BaseModel):
    """The cells of a grid: these tasks in these runs."""

    run: list[str] = Field(min_length=1, max_length=1_000)
    task: list[str] = Field(min_length=1, max_length=10_000)


@router.get(_PATH)
def ask_cells_change(
    request: Request, caller: AnyCaller, dag_id: str, change: str, cells: Annotated[Cells, Query()]
) -> Response:
    """Show what a change of the cells would do."""
    return rehearsed(request, caller, _change(caller, dag_id, change, cells, ""))


@router.post(_PATH)
def answer_cells_change(
    request: Request,
    caller: AnyCaller,
    dag_id: str,
    change: str,
    cells: Annotated[Cells, Query()],
    form: Form,
) -> Response:
    """Change the cells; the address says which ones."""
    wanted = _change(caller, dag_id, change, cells, form.get("reason", ""))
    return carried_out(request, caller, wanted, form)


def _change(caller: Caller, dag_id: str, name: str, cells: Cells, reason: str) -> PageChange:
    if name not in _VERBS:
        raise NotFoundError(f"Nothing called {name!r} can be done to cells of a grid.")
    author = caller.author(reason or None)

    def one(conn: Connection, run_id: str, tasks: list[str]) -> RunChange:
        if name == "clear":
            return clear_tasks(conn, dag_id, run_id, Selection(tasks), author)
        return mark_tasks(conn, dag_id, run_id, Marking(tasks, _MARKS[name]), author)

    def work(conn: Connection) -> str:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        done = change_several(
            conn, dag_id, cells.run, cells.task, lambda run, tasks: one(conn, run, list(tasks))
        )
        return f"{dag_id}: {told_together(done)}"

    what = f"{len(cells.task)} tasks in {len(cells.run)} runs of {dag_id}"
    return PageChange(f"{_VERBS[name]}: {what}", _VERBS[name], addresses.dag(dag_id), work)
