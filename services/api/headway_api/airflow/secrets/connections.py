"""List, show, create, change and delete connections; credentials are set and never shown."""

from typing import Annotated, Any, Final

from fastapi import Path, Query, Request, Response
from pydantic import Field
from sqlalchemy import Connection as Transaction

from headway.actions.installation import secrets
from headway.db.core.notices import PARSER
from headway.domain.accounts import Permission
from headway.domain.connection import Connection
from headway.domain.variable import SecretKind
from headway.runtime.settings.secret_keys import keys
from headway_api.airflow.filters import like
from headway_api.airflow.listing import OffsetQuery
from headway_api.airflow.masks import Mask, given_in
from headway_api.airflow.ordering import known, ordering
from headway_api.airflow.secrets.connection_models import (
    ConnectionBody,
    ConnectionCollectionResponse,
    ConnectionResponse,
)
from headway_api.airflow.secrets.hidden import HIDDEN, one, refuse_hidden, stored
from headway_api.airflow.short_lists import short
from headway_api.auth.caller import AnyCaller
from headway_api.auth.changing import DryRun, changed
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("connections")

KIND: Final = SecretKind.CONNECTION
Id = Annotated[str, Path(max_length=250)]
_ORDERS: Final = dict.fromkeys(("connection_id", "conn_id", "id"))
_UNUSED: Final = ("team_name",)


class ConnectionQuery(OffsetQuery):
    """Which connections are wanted."""

    order_by: list[str] = Field([])
    connection_id_pattern: str | None = None
    connection_id_prefix_pattern: str | None = None


@router.get("/connections")
def get_connections(
    caller: AnyCaller, query: Annotated[ConnectionQuery, Query()]
) -> ConnectionCollectionResponse:
    """List the connections: all, or for an account of some bundles those granted to their DAGs."""
    name_like = like(query.connection_id_pattern, query.connection_id_prefix_pattern)
    order = ordering(query.order_by, "connection_id")
    known(_ORDERS, order)

    def work(conn: Transaction) -> ConnectionCollectionResponse:
        page = short(
            caller,
            query,
            lambda asked: stored(conn, asked, KIND, name_like),
            descending=order.descending,
        )
        return ConnectionCollectionResponse(
            connections=[ConnectionResponse.of(row) for row in page.rows],
            total_entries=page.total_entries,
        )

    return caller.read(work)


@router.get("/connections/{connection_id}", responses=errors(404))
def get_connection(caller: AnyCaller, connection_id: Id) -> ConnectionResponse:
    """Show a connection without what may be secret."""
    return caller.read(
        lambda conn: ConnectionResponse.of(one(conn, caller.bundles, KIND, connection_id))
    )


@router.post(
    "/connections",
    status_code=201,
    response_model=ConnectionResponse,
    responses=errors(409),
)
def post_connection(
    caller: AnyCaller, request: Request, body: ConnectionBody, dry_run: DryRun = False
) -> Response:
    """Store a connection.  No DAG may read it until one is granted it."""
    caller.require(Permission.ADMINISTER)
    given = given_in(body, (), ("connection_id", body.connection_id), _UNUSED)
    refuse_hidden(given)
    description = given.pop("description", None)

    def work(conn: Transaction) -> ConnectionResponse:
        it = Connection.from_fields(body.connection_id, given)
        secrets.store(conn, it, keys(), caller.actor, description, replace=False)
        return ConnectionResponse.of(one(conn, caller.bundles, KIND, body.connection_id))

    return changed(caller, request, work, asked=body, status=201, dry_run=dry_run, tell=[PARSER])


@router.patch(
    "/connections/{connection_id}", response_model=ConnectionResponse, responses=errors(404)
)
def patch_connection(
    caller: AnyCaller,
    request: Request,
    connection_id: Id,
    body: ConnectionBody,
    update_mask: Mask = (),
    dry_run: DryRun = False,
) -> Response:
    """Change a connection; what says that it is hidden is left as it is."""
    caller.require(Permission.ADMINISTER)
    named = ("connection_id", connection_id)
    given = _without_hidden(given_in(body, update_mask, named, _UNUSED))
    description = given.pop("description", None)

    def work(conn: Transaction) -> ConnectionResponse:
        before = secrets.look(conn, KIND, connection_id, keys)
        assert isinstance(before, Connection)
        it = Connection.from_fields(connection_id, {**before.to_fields(), **given})
        secrets.store(conn, it, keys(), caller.actor, description)
        return ConnectionResponse.of(one(conn, caller.bundles, KIND, connection_id))

    return changed(caller, request, work, asked=body, dry_run=dry_run, tell=[PARSER])


@router.delete("/connections/{connection_id}", status_code=204, responses=errors(404))
def delete_connection(
    caller: AnyCaller, request: Request, connection_id: Id, dry_run: DryRun = False
) -> Response:
    """Delete a connection with all grants of it."""
    caller.require(Permission.ADMINISTER)
    return changed(
        caller,
        request,
        lambda conn: secrets.delete(conn, KIND, connection_id, caller.actor),
        dry_run=dry_run,
        tell=[PARSER],
    )


def _without_hidden(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value != HIDDEN}
