"""Connections and variables: what there is and which DAGs may read it; values are only set."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection as Transaction
from starlette.responses import Response

from headway.actions.installation import secrets
from headway.db.core.notices import PARSER
from headway.db.reads.pages import paging, secret_pages
from headway.domain.accounts import Permission
from headway.domain.connection import Connection
from headway.domain.errors import HeadwayError
from headway.domain.variable import EVERY_DAG, Secret, SecretKind, StoredVariable, to_bundle
from headway.runtime.settings.secret_keys import keys
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.fields import json_object, names, number
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import SecretForm, page_router

router = page_router()

_PAGE: Final = 100
_NOTHING: Final = {
    "fields": {"name": "", "description": "", "dags": ""},
    "said": "",
    "done": "",
}
"""What the form shows before anybody has sent it."""


class SecretsQuery(BaseModel):
    """Which connections or variables are wanted; what is empty is any."""

    q: str = ""
    cursor: str | None = None


class ConnectionFields(BaseModel):
    """What the form of a connection has, besides its name."""

    conn_type: str = ""
    host: str = ""
    login: str = ""
    password: str = Field("", repr=False)
    port: str = ""
    schema_: str = Field("", alias="schema")
    extra: str = Field("", repr=False)

    def connection(self, name: str) -> Connection:
        """Return the connection; SecretError or RequestError for what cannot be."""
        given = {
            "conn_type": self.conn_type,
            "host": self.host,
            "login": self.login,
            "password": self.password,
            "schema": self.schema_,
        }
        port, extra = number(self.port, "The port"), json_object(self.extra, "extra")
        known = {field: value for field, value in given.items() if value}
        return Connection.from_fields(name, {**known, "port": port, "extra": extra})


@router.get(addresses.CONNECTIONS)
def show_connections(
    request: Request, caller: AnyCaller, query: Annotated[SecretsQuery, Query()]
) -> Response:
    """List connections, without what is secret in them."""
    return _list(request, caller, SecretKind.CONNECTION, query)


@router.get(addresses.VARIABLES)
def show_variables(
    request: Request, caller: AnyCaller, query: Annotated[SecretsQuery, Query()]
) -> Response:
    """List variables, without their values."""
    return _list(request, caller, SecretKind.VARIABLE, query)


@router.post(addresses.CONNECTIONS)
def set_connection(request: Request, caller: AnyCaller, form: SecretForm) -> Response:
    """Store a connection, or another one under its name."""
    fields = ConnectionFields.model_validate(form)
    kind = SecretKind.CONNECTION
    return _set(request, caller, kind, form, lambda: fields.connection(_name(form)))


@router.post(addresses.VARIABLES)
def set_variable(request: Request, caller: AnyCaller, form: SecretForm) -> Response:
    """Store a variable, or another one under its name."""
    plain = bool(form.get("plain"))

    def made() -> Secret:
        return StoredVariable(key=_name(form), value=form.get("value", ""), plain=plain)

    return _set(request, caller, SecretKind.VARIABLE, form, made)


def _name(form: dict[str, str]) -> str:
    return form.get("name", "").strip()


def _set(
    request: Request,
    caller: Caller,
    kind: SecretKind,
    form: dict[str, str],
    made: Callable[[], Secret],
) -> Response:
    """Store what the form has.  No page repeats a value, so there is no preview of it."""
    caller.require(Permission.ADMINISTER)
    dags = names(form.get("dags", ""))

    def work(conn: Transaction) -> None:
        description = form.get("description") or None
        replace = bool(form.get("replace"))
        secrets.store(conn, made(), keys(), caller.actor, description, replace=replace)
        secrets.grant(conn, kind, _name(form), dags, caller.actor)

    try:
        caller.change(work, (PARSER,))
    except HeadwayError as error:
        shown = {name: form.get(name, "") for name in ("name", "description", "dags")}
        wrong = {"fields": shown, "said": str(error)}
        return _list(request, caller, kind, SecretsQuery(), wrong)
    stored = f"The {kind} {_name(form)} is stored. Attempts that begin now see it."
    return _list(request, caller, kind, SecretsQuery(), {"done": stored})


def _list(
    request: Request,
    caller: Caller,
    kind: SecretKind,
    query: SecretsQuery,
    shown: Mapping[str, Any] = _NOTHING,
) -> Response:
    """List what there is of a kind, beside the form; `shown` is what that has besides its usual."""
    caller.require(Permission.READ)
    like = paging.contains(query.q) if query.q else None
    asked = caller.page(_PAGE, query.cursor or None)
    found = caller.read(lambda conn: secret_pages.page(conn, asked, kind, like))
    words = {"every_dag": EVERY_DAG, "to_bundle": to_bundle}
    context = {"kind": kind, "found": found, "query": query, **words}
    return page(request, "secrets.html", caller, {**context, **_NOTHING, **shown})
