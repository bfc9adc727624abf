"""Pools: who holds their slots, who waits for them, and what other numbers of slots would do."""

from typing import Annotated, Any, Final

from fastapi import Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.explain.simulate import simulate_queue
from headway.actions.installation.pools import no_pool
from headway.db.core.server import now
from headway.db.reads import pool_views, status
from headway.db.reads.explain import queue_order
from headway.db.reads.pages import task_pages
from headway.db.reads.pages.task_pages import TaskFilter
from headway.decide.explain.simulate import Changes
from headway.domain.states import TaskState
from headway.runtime.settings.configuration import read as read_settings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.access import require_every_bundle
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_SHOWN: Final = 50
_HOLDING: Final = (TaskState.QUEUED, TaskState.RUNNING, TaskState.RESTARTING)


class WhatIf(BaseModel):
    """Another number of slots, to see what would be queued then."""

    slots: int | None = Field(None, ge=0, le=2**31 - 1)


@router.get(addresses.POOLS)
def show_pools(request: Request, caller: AnyCaller) -> Response:
    """List the pools and the queues."""
    require_every_bundle(caller, "The list of pools")

    def read(conn: Connection) -> dict[str, Any]:
        return {"pools": pool_views.pools(conn), "queues": status.queues(conn)}

    return page(request, "pools.html", caller, caller.read(read))


@router.get(addresses.POOLS + "/{name}")
def show_pool(
    request: Request, caller: AnyCaller, name: str, query: Annotated[WhatIf, Query()]
) -> Response:
    """Show who holds the slots of a pool, who waits for them in order, and what if."""
    require_every_bundle(caller, "A pool")
    context = caller.read(lambda conn: _pool(caller, conn, name, query.slots))
    return page(request, "pool.html", caller, context)


def _pool(caller: Caller, conn: Connection, name: str, slots: int | None) -> dict[str, Any]:
    pool = next((it for it in pool_views.pools(conn) if it.name == name), None)
    if pool is None:
        raise no_pool(name)
    holding = TaskFilter(pools=[name], states=_HOLDING)
    waiting = queue_order.waiting(conn, name)
    found = None
    if slots is not None:
        settings = read_settings(SchedulerSettings)
        found = simulate_queue(conn, Changes({name: slots}, {}, {}, None), settings, now(conn))
    return {
        "pool": pool,
        "holders": task_pages.page(conn, caller.page(_SHOWN, descending=True), holding),
        "waiting": list(waiting)[:_SHOWN],
        "slots": slots,
        "simulated": found,
    }
