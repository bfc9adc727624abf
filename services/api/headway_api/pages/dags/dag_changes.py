"""Pause and unpause a DAG."""

from collections.abc import Mapping

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.dags.pause import set_paused
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.confirming import PageChange, carried_out, rehearsed
from headway_api.pages.frame.routing import Form, page_router

router = page_router()

_DAG = addresses.DAGS + "/{dag_id}"


@router.get(_DAG + "/pause")
def ask_pause(request: Request, caller: AnyCaller, dag_id: str) -> Response:
    """Ask before a DAG is paused."""
    return rehearsed(request, caller, _pause(caller, dag_id, {}, paused=True))


@router.post(_DAG + "/pause")
def pause(request: Request, caller: AnyCaller, dag_id: str, form: Form) -> Response:
    """Pause a DAG."""
    return carried_out(request, caller, _pause(caller, dag_id, form, paused=True), form)


@router.get(_DAG + "/unpause")
def ask_unpause(request: Request, caller: AnyCaller, dag_id: str) -> Response:
    """Ask before a DAG is unpaused."""
    return rehearsed(request, caller, _pause(caller, dag_id, {}, paused=False))


@router.post(_DAG + "/unpause")
def unpause(request: Request, caller: AnyCaller, dag_id: str, form: Form) -> Response:
    """Unpause a DAG."""
    return carried_out(request, caller, _pause(caller, dag_id, form, paused=False), form)


def _pause(caller: Caller, dag_id: str, form: Mapping[str, str], *, paused: bool) -> PageChange:
    reason = form.get("reason") or None

    def work(conn: Connection) -> str:
        caller.check_dag(conn, Permission.OPERATE, dag_id)
        word = "paused" if paused else "unpaused"
        if not set_paused(conn, dag_id, caller.actor, reason, paused=paused):
            return f"DAG {dag_id} is {word} already: nothing is to be changed"
        if paused:
            return f"DAG {dag_id} is paused: runs that have begun stop where they are"
        return f"DAG {dag_id} is unpaused: its runs begin when they are due"

    verb = "Pause" if paused else "Unpause"
    return PageChange(f"{verb} {dag_id}", verb, addresses.dag(dag_id), work)
