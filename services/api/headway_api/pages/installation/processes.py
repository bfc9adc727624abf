"""The processes of the installation, and how a worker is drained."""

from typing import Final

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.installation import processes
from headway.actions.installation.workers import drain_worker
from headway.db.reads import process_views
from headway.domain.accounts import Permission
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.access import BigId, require_every_bundle
from headway_api.pages.frame import addresses
from headway_api.pages.frame.confirming import PageChange, carried_out, rehearsed
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import Form, page_router

router = page_router()

_DRAIN: Final = addresses.PROCESSES + "/{number:int}/drain"


@router.get(addresses.PROCESSES)
def show_processes(request: Request, caller: AnyCaller) -> Response:
    """List the processes that have not ended, and which of them are alive."""
    require_every_bundle(caller, "The list of processes")
    settings: SchedulerSettings = request.app.state.scheduler
    shown = caller.read(process_views.processes)
    known = caller.read(lambda conn: processes.unended(conn, settings, *processes.KINDS))
    alive = {it.id: it for it in known}
    return page(request, "processes.html", caller, {"found": shown, "known": alive})


@router.get(_DRAIN)
def ask_drain(request: Request, caller: AnyCaller, number: BigId) -> Response:
    """Ask before a worker drains."""
    return rehearsed(request, caller, _drain(caller, number))


@router.post(_DRAIN)
def drain(request: Request, caller: AnyCaller, number: BigId, form: Form) -> Response:
    """Have a worker take no more attempts, finish those that it has, and end."""
    return carried_out(request, caller, _drain(caller, number, form.get("reason", "")), form)


def _drain(caller: Caller, number: int, reason: str = "") -> PageChange:
    caller.require(Permission.ADMINISTER)

    def work(conn: Connection) -> str:
        drain_worker(conn, number, caller.author(reason or None))
        return f"Worker {number} takes no more attempts, and ends when those that it has are done"

    return PageChange(f"Drain worker {number}", "Drain", addresses.PROCESSES, work)
