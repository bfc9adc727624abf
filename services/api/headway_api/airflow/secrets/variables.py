"""List, show, create, change and delete variables; values are set and never shown."""

import json
from dataclasses import replace
from typing import Annotated, Any, Final, Self

from fastapi import Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from headway.actions.installation import secrets
from headway.db.core.notices import PARSER
from headway.db.reads.secret_views import SecretView
from headway.domain.accounts import Permission
from headway.domain.variable import SecretKind, StoredVariable
from headway.runtime.settings.secret_keys import keys
from headway_api.airflow.filters import like
from headway_api.airflow.listing import OffsetQuery
from headway_api.airflow.masks import Mask, given_in
from headway_api.airflow.ordering import known, ordering
from headway_api.airflow.secrets.hidden import HIDDEN, one, refuse_hidden, stored
from headway_api.airflow.short_lists import short
from headway_api.auth.caller import AnyCaller
from headway_api.auth.changing import DryRun, changed
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("variables")

KIND: Final = SecretKind.VARIABLE
Key = Annotated[str, Path(max_length=250)]
_ORDERS: Final = dict.fromkeys(("key", "id"))


class VariableQuery(OffsetQuery):
    """Which variables are wanted."""

    order_by: list[str] = Field([])
    variable_key_pattern: str | None = None
    variable_key_prefix_pattern: str | None = None


class VariableResponse(BaseModel):
    """A variable without its value: `value` always says that it is hidden."""

    key: str
    value: str = HIDDEN
    description: str | None
    is_encrypted: bool = True
    team_name: None = None

    @classmethod
    def of(cls, row: SecretView) -> Self:
        """Return the variable as it is shown."""
        return cls(key=row.name, description=row.description)


class VariableCollectionResponse(BaseModel):
    """Some of the variables."""

    variables: list[VariableResponse]
    total_entries: int


class VariableBody(BaseModel):
    """A variable to set.  A value that is no text is stored as JSON.  There are no teams."""

    model_config = ConfigDict(extra="forbid")

    key: str = Field(max_length=250)
    value: Any = Field(repr=False)
    description: str | None = None
    team_name: None = None


@router.get("/variables")
def get_variables(
    caller: AnyCaller, query: Annotated[VariableQuery, Query()]
) -> VariableCollectionResponse:
    """List the variables: all, or for an account of some bundles those granted to their DAGs."""
    name_like = like(query.variable_key_pattern, query.variable_key_prefix_pattern)
    order = ordering(query.order_by, "key")
    known(_ORDERS, order)

    def work(conn: Connection) -> VariableCollectionResponse:
        page = short(
            caller,
            query,
            lambda asked: stored(conn, asked, KIND, name_like),
            descending=order.descending,
        )
        return VariableCollectionResponse(
            variables=[VariableResponse.of(row) for row in page.rows],
            total_entries=page.total_entries,
        )

    return caller.read(work)


@router.get("/variables/{variable_key}", responses=errors(404))
def get_variable(caller: AnyCaller, variable_key: Key) -> VariableResponse:
    """Show a variable without its value."""
    return caller.read(
        lambda conn: VariableResponse.of(one(conn, caller.bundles, KIND, variable_key))
    )


@router.post(
    "/variables",
    status_code=201,
    response_model=VariableResponse,
    responses=errors(409),
)
def post_variable(
    caller: AnyCaller, request: Request, body: VariableBody, dry_run: DryRun = False
) -> Response:
    """Store a variable.  It is a secret, and no DAG may read it until one is granted it."""
    caller.require(Permission.ADMINISTER)
    refuse_hidden({"value": body.value})

    def work(conn: Connection) -> VariableResponse:
        it = StoredVariable(key=body.key, value=_text(body.value))
        secrets.store(conn, it, keys(), caller.actor, body.description, replace=False)
        return VariableResponse.of(one(conn, caller.bundles, KIND, body.key))

    return changed(caller, request, work, asked=body, status=201, dry_run=dry_run, tell=[PARSER])


@router.patch("/variables/{variable_key}", response_model=VariableResponse, responses=errors(404))
def patch_variable(
    caller: AnyCaller,
    request: Request,
    variable_key: Key,
    body: VariableBody,
    update_mask: Mask = (),
    dry_run: DryRun = False,
) -> Response:
    """Change a variable; a value that says that it is hidden is left as it is."""
    caller.require(Permission.ADMINISTER)
    given = given_in(body, update_mask, ("key", variable_key), ("team_name",))

    def work(conn: Connection) -> VariableResponse:
        it = secrets.look(conn, KIND, variable_key, keys)
        assert isinstance(it, StoredVariable)
        if given.get("value", HIDDEN) != HIDDEN:
            it = replace(it, value=_text(given["value"]))
        secrets.store(conn, it, keys(), caller.actor, given.get("description"))
        return VariableResponse.of(one(conn, caller.bundles, KIND, variable_key))

    return changed(caller, request, work, asked=body, dry_run=dry_run, tell=[PARSER])


@router.delete("/variables/{variable_key}", status_code=204, responses=errors(404))
def delete_variable(
    caller: AnyCaller, request: Request, variable_key: Key, dry_run: DryRun = False
) -> Response:
    """Delete a variable with all grants of it."""
    caller.require(Permission.ADMINISTER)
    return changed(
        caller,
        request,
        lambda conn: secrets.delete(conn, KIND, variable_key, caller.actor),
        dry_run=dry_run,
        tell=[PARSER],
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
