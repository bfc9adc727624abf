"""List, show, create, change and delete pools."""

from collections.abc import Sequence
from typing import Annotated, Final

from fastapi import Path, Query, Request, Response
from pydantic import Field
from sqlalchemy import Connection

from headway.actions.installation import pools
from headway.db.reads.pages import pool_pages
from headway.db.reads.pool_views import PoolView
from headway.domain.accounts import Permission
from headway.domain.errors import AlreadyExistsError, PoolNotFoundError
from headway.domain.hints import Action, act, hint
from headway_api.airflow.filters import like
from headway_api.airflow.installation.pool_models import (
    PoolBody,
    PoolCollectionResponse,
    PoolPatchBody,
    PoolResponse,
)
from headway_api.airflow.listing import OffsetQuery
from headway_api.airflow.masks import Mask, given_in
from headway_api.airflow.ordering import known, ordering
from headway_api.airflow.short_lists import short
from headway_api.auth.caller import AnyCaller
from headway_api.auth.changing import DryRun, changed
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("pools")

PoolName = Annotated[str, Path(max_length=256)]

_ORDERS: Final = dict.fromkeys(("name", "pool", "id"))


class PoolQuery(OffsetQuery):
    """Which pools are wanted."""

    order_by: list[str] = Field([])
    pool_name_pattern: str | None = None
    pool_name_prefix_pattern: str | None = None


@router.get("/pools")
def get_pools(caller: AnyCaller, query: Annotated[PoolQuery, Query()]) -> PoolCollectionResponse:
    """List the pools: all, or for an account of some bundles those that their DAGs name."""
    name_like = like(query.pool_name_pattern, query.pool_name_prefix_pattern)
    order = ordering(query.order_by, "name")
    known(_ORDERS, order)

    def work(conn: Connection) -> PoolCollectionResponse:
        page = short(
            caller,
            query,
            lambda asked: pool_pages.page(conn, asked, name_like),
            descending=order.descending,
        )
        return PoolCollectionResponse(
            pools=[PoolResponse.of(pool) for pool in page.rows], total_entries=page.total_entries
        )

    return caller.read(work)


@router.get("/pools/{pool_name:path}", responses=errors(404))
def get_pool(caller: AnyCaller, pool_name: PoolName) -> PoolResponse:
    """Show a pool."""
    return caller.read(lambda conn: PoolResponse.of(_pool(conn, caller.bundles, pool_name)))


@router.post(
    "/pools",
    status_code=201,
    response_model=PoolResponse,
    responses=errors(409),
)
def post_pool(
    caller: AnyCaller, request: Request, body: PoolBody, dry_run: DryRun = False
) -> Response:
    """Create a pool."""
    caller.require(Permission.ADMINISTER)

    def work(conn: Connection) -> PoolResponse:
        if pool_pages.one(conn, caller.bundles, body.name) is not None:
            raise AlreadyExistsError(f"There is a pool {body.name!r} already.")
        pools.set_pool(
            conn,
            body.name,
            body.slots,
            body.description or "",
            caller.actor,
            include_deferred=body.include_deferred,
        )
        return PoolResponse.of(_pool(conn, caller.bundles, body.name))

    return changed(caller, request, work, asked=body, status=201, dry_run=dry_run)


@router.patch("/pools/{pool_name:path}", response_model=PoolResponse, responses=errors(404))
def patch_pool(
    caller: AnyCaller,
    request: Request,
    pool_name: PoolName,
    body: PoolPatchBody,
    update_mask: Mask = (),
    dry_run: DryRun = False,
) -> Response:
    """Change a pool: what the body has, or of that what `update_mask` names."""
    caller.require(Permission.ADMINISTER)
    given = given_in(body, update_mask, ("pool", pool_name), ("team_name",))

    def work(conn: Connection) -> PoolResponse:
        before = _pool(conn, caller.bundles, pool_name)
        after = {
            name: getattr(before, name) if given.get(name) is None else given[name]
            for name in ("slots", "description", "include_deferred")
        }
        pools.set_pool(
            conn,
            pool_name,
            after["slots"],
            after["description"],
            caller.actor,
            include_deferred=after["include_deferred"],
        )
        return PoolResponse.of(_pool(conn, caller.bundles, pool_name))

    return changed(caller, request, work, asked=body, dry_run=dry_run)


@router.delete("/pools/{pool_name:path}", status_code=204, responses=errors(404, 409))
def delete_pool(
    caller: AnyCaller, request: Request, pool_name: PoolName, dry_run: DryRun = False
) -> Response:
    """Delete a pool.  Tasks that name it wait until there is one of that name again."""
    caller.require(Permission.ADMINISTER)
    return changed(
        caller,
        request,
        lambda conn: pools.delete_pool(conn, pool_name, caller.actor),
        dry_run=dry_run,
    )


def _pool(conn: Connection, bundles: Sequence[str] | None, name: str) -> PoolView:
    found = pool_pages.one(conn, bundles, name)
    if found is None:
        shown = hint(act(Action.LIST_POOLS), " shows them all.")
        raise PoolNotFoundError(f"There is no pool {name!r}.", hint=shown)
    return found
