"""How two versions of a DAG differ: tasks, edges, attributes and code."""

from fastapi import Request
from starlette.responses import Response

from headway_api.auth.caller import AnyCaller
from headway_api.native.dags.differences import read_difference
from headway_api.native.dags.versions import VersionNumber
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()


@router.get(addresses.DAGS + "/{dag_id}/versions/{old:int}/diff/{new:int}")
def show_difference(
    request: Request, caller: AnyCaller, dag_id: str, old: VersionNumber, new: VersionNumber
) -> Response:
    """Show what changed from one version to another one."""
    found = caller.read(lambda conn: read_difference(caller, conn, dag_id, old, new))
    return page(request, "difference.html", caller, {"found": found})
