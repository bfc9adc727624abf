"""Clear, mark and cancel a run, or tasks of it."""

from enum import StrEnum
from typing import Annotated

from fastapi import Query, Request
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.change import RunChange
from headway.actions.runs.cancel import cancel_run, cancel_tasks
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.mark import Marking, mark_run, mark_tasks
from headway.actions.sentences import told
from headway.decide.changes.clear import Selection
from headway.domain.accounts import Permission
from headway.domain.errors import NotFoundError, RequestError
from headway.domain.states import RunState, TaskState
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.confirming import PageChange, carried_out, rehearsed
from headway_api.pages.frame.routing import Form, page_router

router = page_router()

_RUN = addresses.DAGS + "/{dag_id}/runs/{run_id}"


class ChangeKind(StrEnum):
    """What can be done to a run, as addresses say it."""

    CLEAR = "clear"
    MARK_SUCCESS = "mark-success"
    MARK_FAILED = "mark-failed"
    CANCEL = "cancel"


_VERBS = {
    ChangeKind.CLEAR: "Clear",
    ChangeKind.MARK_SUCCESS: "Mark as success",
    ChangeKind.MARK_FAILED: "Mark as failed",
    ChangeKind.CANCEL: "Cancel",
}
_MARKS = {ChangeKind.MARK_SUCCESS: "success", ChangeKind.MARK_FAILED: "failed"}


class ChangeFields(BaseModel):
    """What of a run is to be changed: this task, or all of it."""

    task: str = ""
    map_index: int | None = Field(None, ge=0)
    failed: bool = False
    """Whether what has not failed is left alone."""

    reason: str = Field("", max_length=2_000)


_FIELDS: TypeAdapter[ChangeFields] = TypeAdapter(ChangeFields)


@router.get(_RUN + "/{change}")
def ask_change(
    request: Request,
    caller: AnyCaller,
    dag_id: str,
    run_id: str,
    change: str,
    fields: Annotated[ChangeFields, Query()],
) -> Response:
    """Show what a change would do."""
    wanted = _change(caller, (dag_id, run_id), _kind(change), fields)
    return rehearsed(request, caller, wanted)


@router.post(_RUN + "/{change}")
def answer_change(
    request: Request, caller: AnyCaller, dag_id: str, run_id: str, change: str, form: Form
) -> Response:
    """Change a run."""
    known = {name: form[name] for name in ChangeFields.model_fields if form.get(name)}
    try:
        fields = _FIELDS.validate_python(known)
    except ValidationError as error:
        raise RequestError(f"The form is not understood: {error.errors()[0]['msg']}.") from error
    wanted = _change(caller, (dag_id, run_id), _kind(change), fields)
    return carried_out(request, caller, wanted, form)


def _kind(name: str) -> ChangeKind:
    if name not in set(ChangeKind):
        raise NotFoundError(f"Nothing called {name!r} can be done to a run.")
    return ChangeKind(name)


def _change(
    caller: Caller, where: tuple[str, str], kind: ChangeKind, fields: ChangeFields
) -> PageChange:
    dag_id, run_id = where

    def work(conn: Connection) -> str:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        done = _done(caller, conn, where, kind, fields)
        return f"Run {run_id} of {dag_id}: {told(done)}"

    subject = addresses.run(dag_id, run_id)
    what = f"run {run_id}"
    if fields.task:
        index = -1 if fields.map_index is None else fields.map_index
        subject = addresses.task(dag_id, run_id, fields.task, index)
        what = f"task {fields.task}" if index < 0 else f"task {fields.task}[{index}]"
    sent = fields.model_dump(mode="json", exclude_defaults=True)
    given = {name: str(value) for name, value in sent.items()}
    return PageChange(f"{_VERBS[kind]}: {what}", _VERBS[kind], subject, work, given)


def _done(
    caller: Caller,
    conn: Connection,
    where: tuple[str, str],
    kind: ChangeKind,
    fields: ChangeFields,
) -> RunChange:
    author = caller.author(fields.reason or None)
    tasks = [fields.task] if fields.task else []
    if kind is ChangeKind.CLEAR:
        selection = Selection(tasks, fields.map_index, only_failed=fields.failed)
        return clear_tasks(conn, *where, selection, author)
    if kind is ChangeKind.CANCEL:
        if not tasks:
            return cancel_run(conn, *where, author)
        return cancel_tasks(conn, where, tasks, fields.map_index, author)
    if not tasks:
        return mark_run(conn, *where, RunState(_MARKS[kind]), author)
    marking = Marking(tasks, TaskState(_MARKS[kind]), fields.map_index)
    return mark_tasks(conn, *where, marking, author)
