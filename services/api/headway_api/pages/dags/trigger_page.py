"""Trigger a DAG: a form by its params, then what the run would be, then the run."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import Query, Request
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.lookup import current_dag
from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.db.core.server import now
from headway.domain.accounts import Permission
from headway.domain.dag.params import KnownParam, known_params
from headway.domain.errors import ConflictError, RequestError
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.dags.param_fields import PREFIX, in_sections, param_fields, typed
from headway_api.pages.frame import addresses
from headway_api.pages.frame.confirming import PREVIEW, PageChange, carried_out, rehearsed
from headway_api.pages.frame.fields import date, json_object
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import Form, page_router

router = page_router()

_PATH: Final = addresses.DAGS + "/{dag_id}/trigger"


class TriggerFields(BaseModel):
    """What the form of a new run has besides params; what is empty is not given."""

    conf: str = ""
    run_id: str = ""
    date: str = ""
    reason: str = ""


@router.get(_PATH)
def ask_trigger(
    request: Request, caller: AnyCaller, dag_id: str, fields: Annotated[TriggerFields, Query()]
) -> Response:
    """Ask what a new run shall have."""
    return _form(request, caller, dag_id, fields, dict(request.query_params))


@router.post(_PATH)
def answer_trigger(request: Request, caller: AnyCaller, dag_id: str, form: Form) -> Response:
    """Show what the run would be, or create it; show the form again with what is wrong."""
    fields = TriggerFields(**{name: form.get(name, "") for name in TriggerFields.model_fields})
    fields.date = fields.date or caller.read(now).isoformat()
    try:
        change = _trigger(caller, dag_id, fields, form)
        if PREVIEW not in form:
            return rehearsed(request, caller, change)
        return carried_out(request, caller, change, form)
    except (RequestError, ConflictError) as error:
        return _form(request, caller, dag_id, fields, form, str(error))


def _trigger(
    caller: Caller, dag_id: str, fields: TriggerFields, form: Mapping[str, str]
) -> PageChange:
    more = json_object(fields.conf, "conf")
    made: list[str] = []

    def work(conn: Connection) -> str:
        conf = {**typed(_params(caller, conn, dag_id), form), **more}
        wanted = TriggerRequest(
            dag_id,
            conf=conf,
            run_id=fields.run_id.strip() or None,
            logical_date=date(fields.date),
            reason=fields.reason or None,
        )
        made[:] = [trigger(conn, wanted, now(conn), caller.actor)]
        having = f", with {', '.join(conf)} of its own" if conf else ""
        return f"Run {made[0]} of {dag_id} is created{having}"

    sent = {name: value for name, value in form.items() if name.startswith(PREFIX)}
    return PageChange(
        f"Trigger {dag_id}",
        "Trigger",
        addresses.dag(dag_id),
        work,
        {**fields.model_dump(), **sent},
        lambda: addresses.run(dag_id, made[0]),
    )


def _params(caller: Caller, conn: Connection, dag_id: str) -> list[KnownParam]:
    caller.check_dag(conn, Permission.OPERATE, dag_id)
    return known_params(current_dag(conn, dag_id).spec)


def _form(
    request: Request,
    caller: Caller,
    dag_id: str,
    fields: TriggerFields,
    given: Mapping[str, str],
    said: str = "",
) -> Response:
    params = caller.read(lambda conn: _params(caller, conn, dag_id))
    context: dict[str, Any] = {
        "dag_id": dag_id,
        "fields": fields,
        "sections": in_sections(param_fields(params, given)),
        "said": said,
    }
    return page(request, "trigger.html", caller, context)
