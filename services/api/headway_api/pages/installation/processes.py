"""The processes of the installation."""

from fastapi import Request
from starlette.responses import Response

from headway.actions.installation import processes
from headway.db.reads import process_views
from headway.runtime.settings.configuration import read as read_settings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_api.auth.caller import AnyCaller
from headway_api.native.access import require_every_bundle
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()


@router.get(addresses.PROCESSES)
def show_processes(request: Request, caller: AnyCaller) -> Response:
    """List the processes that have not ended, and which of them are alive."""
    require_every_bundle(caller, "The list of processes")
    settings = read_settings(SchedulerSettings)
    shown = caller.read(process_views.processes)
    known = caller.read(lambda conn: processes.unended(conn, settings, *processes.KINDS))
    alive = {it.id: it for it in known}
    return page(request, "processes.html", caller, {"found": shown, "known": alive})
