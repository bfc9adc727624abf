"""Delete connections and variables, grant them to DAGs, and take grants back."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Final, Self

from fastapi import Path, Query, Request
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.installation import secrets
from headway.db.core.notices import PARSER
from headway.db.reads.pages import paging, secret_pages
from headway.db.reads.pages.paging import MOST_ROWS, Asked
from headway.domain.accounts import Permission
from headway.domain.errors import RequestError
from headway.domain.variable import EVERY_DAG, SecretKind, bundle_of
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.confirming import PageChange, carried_out, rehearsed
from headway_api.pages.frame.routing import Form, page_router

router = page_router()


class SecretChange(StrEnum):
    """What can be done to one of them."""

    DELETE = "delete"
    GRANT = "grant"
    REVOKE = "revoke"


class GrantFields(BaseModel):
    """Which DAG is to be allowed to read, or to be no more (EVERY_DAG stands for all), and why."""

    dag: str = ""
    reason: str = ""

    @classmethod
    def of(cls, form: Mapping[str, str]) -> Self:
        """Return what a form says."""
        return cls(dag=form.get("dag", ""), reason=form.get("reason", ""))


_LISTS: Final = {
    SecretKind.CONNECTION: addresses.CONNECTIONS,
    SecretKind.VARIABLE: addresses.VARIABLES,
}
_CONNECTION: Final = addresses.CONNECTIONS + "/{name}/{change}"
_VARIABLE: Final = addresses.VARIABLES + "/{name}/{change}"
_Name = Annotated[str, Path(max_length=250)]
_Fields = Annotated[GrantFields, Query()]


@router.get(_CONNECTION)
def ask_connection_change(
    request: Request, caller: AnyCaller, name: _Name, change: SecretChange, fields: _Fields
) -> Response:
    """Show what a change of a connection would do."""
    return rehearsed(request, caller, _change(caller, SecretKind.CONNECTION, name, change, fields))


@router.post(_CONNECTION)
def change_connection(
    request: Request, caller: AnyCaller, name: _Name, change: SecretChange, form: Form
) -> Response:
    """Delete a connection, or change who may read it."""
    wanted = _change(caller, SecretKind.CONNECTION, name, change, GrantFields.of(form))
    return carried_out(request, caller, wanted, form)


@router.get(_VARIABLE)
def ask_variable_change(
    request: Request, caller: AnyCaller, name: _Name, change: SecretChange, fields: _Fields
) -> Response:
    """Show what a change of a variable would do."""
    return rehearsed(request, caller, _change(caller, SecretKind.VARIABLE, name, change, fields))


@router.post(_VARIABLE)
def change_variable(
    request: Request, caller: AnyCaller, name: _Name, change: SecretChange, form: Form
) -> Response:
    """Delete a variable, or change who may read it."""
    wanted = _change(caller, SecretKind.VARIABLE, name, change, GrantFields.of(form))
    return carried_out(request, caller, wanted, form)


def _change(
    caller: Caller, kind: SecretKind, name: str, change: SecretChange, fields: GrantFields
) -> PageChange:
    caller.require(Permission.ADMINISTER)
    grantee, reason = fields.dag.strip(), fields.reason or None
    if change is not SecretChange.DELETE and not grantee:
        raise RequestError(
            f"Name the DAG that may read the {kind}, or {EVERY_DAG} for every DAG, or bundle:NAME "
            "for the DAG files of a bundle."
        )
    whom, readers = _whom(grantee)

    def work(conn: Connection) -> str:
        if change is SecretChange.DELETE:
            secrets.delete(conn, kind, name, caller.actor, reason)
            return f"The {kind} {name} is deleted with all grants of it"
        if change is SecretChange.GRANT:
            if not secrets.grant(conn, kind, name, [grantee], caller.actor, reason):
                return f"The {kind} {name} is granted to {whom} already: nothing is to be changed"
            return f"{readers} from now on may read the {kind} {name}"
        secrets.revoke(conn, kind, name, [grantee], caller.actor, reason)
        of_dag = grantee != EVERY_DAG and bundle_of(grantee) is None
        stays = of_dag and EVERY_DAG in _granted(conn, kind, name)
        if stays:
            return f"The {kind} {name} is granted to every DAG, so {whom} may read it all the same"
        return f"{readers} from now on may not read the {kind} {name}"

    verb = change.capitalize()
    title = f"{verb} {kind} {name}" if change is SecretChange.DELETE else f"{verb} {name}: {whom}"
    return PageChange(title, verb, _LISTS[kind], work, {"dag": grantee}, tell=[PARSER])


def _whom(grantee: str) -> tuple[str, str]:
    """Return whom a grant is for, and what of it reads."""
    bundle = bundle_of(grantee)
    if bundle is not None:
        return f"bundle {bundle}", f"DAG files of bundle {bundle} that are parsed"
    whom = "every DAG" if grantee == EVERY_DAG else f"DAG {grantee}"
    return whom, f"Attempts of {whom} that begin"


def _granted(conn: Connection, kind: SecretKind, name: str) -> Sequence[str]:
    asked = Asked(None, MOST_ROWS)
    rows = secret_pages.page(conn, asked, kind, paging.exactly(name)).rows
    return next((row.dags for row in rows if row.name == name), ())
