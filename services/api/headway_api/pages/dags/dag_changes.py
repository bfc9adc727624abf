"""Pause, unpause and trigger a DAG."""

import json
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.dags.pause import set_paused
from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.db.core.server import now
from headway.domain.accounts import Permission
from headway.domain.arguments import JsonValue
from headway.domain.errors import RequestError
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.confirming import PageChange, carried_out, rehearsed
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import Form, page_router

router = page_router()

_DAG = addresses.DAGS + "/{dag_id}"


class TriggerFields(BaseModel):
    """What the form of a new run has; what is empty is not given."""

    conf: str = ""
    run_id: str = ""
    date: str = ""
    reason: str = ""


@router.get(_DAG + "/pause")
def ask_pause(request: Request, caller: AnyCaller, dag_id: str) -> Response:
    """Ask before a DAG is paused."""
    return rehearsed(request, caller, _pause(caller, dag_id, paused=True))


@router.post(_DAG + "/pause")
def pause(request: Request, caller: AnyCaller, dag_id: str, form: Form) -> Response:
    """Pause a DAG."""
    return carried_out(request, caller, _pause(caller, dag_id, paused=True), form)


@router.get(_DAG + "/unpause")
def ask_unpause(request: Request, caller: AnyCaller, dag_id: str) -> Response:
    """Ask before a DAG is unpaused."""
    return rehearsed(request, caller, _pause(caller, dag_id, paused=False))


@router.post(_DAG + "/unpause")
def unpause(request: Request, caller: AnyCaller, dag_id: str, form: Form) -> Response:
    """Unpause a DAG."""
    return carried_out(request, caller, _pause(caller, dag_id, paused=False), form)


@router.get(_DAG + "/trigger")
def ask_trigger(
    request: Request, caller: AnyCaller, dag_id: str, fields: Annotated[TriggerFields, Query()]
) -> Response:
    """Ask what a new run shall have."""
    return _form(request, caller, dag_id, fields)


@router.post(_DAG + "/trigger")
def answer_trigger(request: Request, caller: AnyCaller, dag_id: str, form: Form) -> Response:
    """Trigger a DAG, or show the form again with what is wrong."""
    fields = TriggerFields(**{name: form.get(name, "") for name in TriggerFields.model_fields})
    try:
        change = _trigger(caller, dag_id, fields)
        return carried_out(request, caller, change, {})
    except RequestError as error:
        return _form(request, caller, dag_id, fields, str(error))


def _pause(caller: Caller, dag_id: str, *, paused: bool) -> PageChange:
    def work(conn: Connection) -> str:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        word = "paused" if paused else "unpaused"
        if not set_paused(conn, dag_id, caller.actor, paused=paused):
            return f"DAG {dag_id} is {word} already: nothing is to be changed"
        if paused:
            return f"DAG {dag_id} is paused: runs that have begun stop where they are"
        return f"DAG {dag_id} is unpaused: its runs begin when they are due"

    verb = "Pause" if paused else "Unpause"
    return PageChange(f"{verb} {dag_id}", verb, addresses.dag(dag_id), work)


def _trigger(caller: Caller, dag_id: str, fields: TriggerFields) -> PageChange:
    wanted = TriggerRequest(
        dag_id,
        conf=_conf(fields.conf),
        run_id=fields.run_id.strip() or None,
        logical_date=_date(fields.date),
        reason=fields.reason or None,
    )

    def work(conn: Connection) -> str:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        return f"Run {trigger(conn, wanted, now(conn), caller.actor)} of {dag_id} is created"

    return PageChange(f"Trigger {dag_id}", "Trigger", addresses.dag(dag_id), work)


def _form(
    request: Request, caller: Caller, dag_id: str, fields: TriggerFields, said: str = ""
) -> Response:
    def check(conn: Connection) -> None:
        caller.check_dag(conn, Permission.OPERATE, dag_id)

    caller.read(check)
    context: dict[str, Any] = {"dag_id": dag_id, "fields": fields, "said": said}
    return page(request, "trigger.html", caller, context)


def _conf(text: str) -> dict[str, JsonValue]:
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise RequestError(f"The conf is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise RequestError('The conf is a JSON object, such as {"limit": 10}.')
    return found


def _date(text: str) -> datetime | None:
    """Return the date; one without a zone is in UTC, as the page says."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise RequestError(f"{text!r} is no date, such as 2024-05-01T06:00.") from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
