"""The tokens of an account, and those of everybody for admins."""

from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Query, Request
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.accounts.tokens import (
    CreatedToken,
    TokenRequest,
    create_token,
    revoke_token,
)
from headway.db.reads import account_views
from headway.domain.accounts import AccountRole, Permission, may
from headway.domain.errors import HeadwayError, RequestError
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.access import BigId
from headway_api.pages.frame import addresses
from headway_api.pages.frame.confirming import PageChange, carried_out, rehearsed
from headway_api.pages.frame.fields import number
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import Form, page_router

router = page_router()

_PAGE: Final = 100
_DAY: Final = 86_400.0
_LONGEST_DAYS: Final = 36_500


class TokenFields(BaseModel):
    """What the form of a new token has; what is empty is as the account has it."""

    name: str = ""
    role: str = ""
    bundles: str = ""
    days: str = ""
    reason: str = ""


@router.get(addresses.TOKENS)
def show_tokens(
    request: Request, caller: AnyCaller, cursor: Annotated[str | None, Query()] = None
) -> Response:
    """List tokens, without their secrets, beside a form for a new one."""
    return _list(request, caller, TokenFields(), cursor)


@router.post(addresses.TOKENS)
def add_token(request: Request, caller: AnyCaller, form: Form) -> Response:
    """Create a token of the own account and show its secret, this once."""
    fields = TokenFields(**{name: form.get(name, "") for name in TokenFields.model_fields})
    if caller.token is not None:
        caller.require(Permission.ADMINISTER)
    try:
        made = caller.change(lambda conn: _create(caller, conn, fields))
    except HeadwayError as error:
        return _list(request, caller, fields, None, str(error))
    answer = page(request, "new_token.html", caller, {"made": made}, HTTPStatus.CREATED)
    answer.headers["Cache-Control"] = "no-store"
    return answer


@router.get(addresses.TOKENS + "/{token_id}/revoke")
def ask_revoke(request: Request, caller: AnyCaller, token_id: BigId) -> Response:
    """Ask before a token is revoked."""
    return rehearsed(request, caller, _revoke(caller, token_id, ""))


@router.post(addresses.TOKENS + "/{token_id}/revoke")
def revoke(request: Request, caller: AnyCaller, token_id: BigId, form: Form) -> Response:
    """Revoke a token; only admins revoke those of others."""
    change = _revoke(caller, token_id, form.get("reason", ""))
    return carried_out(request, caller, change, form)


def _revoke(caller: Caller, token_id: int, reason: str) -> PageChange:
    of = _of(caller)

    def work(conn: Connection) -> str:
        revoke_token(conn, token_id, caller.author(reason or None), of)
        return f"Token {token_id} is revoked: whoever uses it is refused from now on"

    return PageChange(f"Revoke token {token_id}", "Revoke", addresses.TOKENS, work)


def _create(caller: Caller, conn: Connection, fields: TokenFields) -> CreatedToken:
    if fields.role and fields.role not in set(AccountRole):
        raise RequestError(f"There is no role {fields.role!r}.")
    role = AccountRole(fields.role) if fields.role else None
    bundles = tuple(name.strip() for name in fields.bundles.split(",") if name.strip())
    days = number(fields.days, "Days until it expires")
    if days is not None and not 1 <= days <= _LONGEST_DAYS:
        raise RequestError(f"A token lasts between 1 and {_LONGEST_DAYS:,} days, not {days:,}.")
    lifetime = None if days is None else days * _DAY
    wanted = TokenRequest(caller.account.name, fields.name, role, bundles or None, lifetime)
    return create_token(conn, wanted, caller.author(fields.reason or None), asker=caller.account)


def _list(
    request: Request, caller: Caller, fields: TokenFields, cursor: str | None, said: str = ""
) -> Response:
    asked = caller.page(_PAGE, cursor)
    found = caller.read(lambda conn: account_views.tokens_page(conn, asked, _of(caller)))
    roles = [str(role) for role in AccountRole]
    context = {"found": found, "fields": fields, "said": said, "roles": roles}
    return page(request, "tokens.html", caller, context)


def _of(caller: Caller) -> str | None:
    """Return whose tokens the account sees; None for those of all."""
    if may(caller.account, Permission.ADMINISTER, None):
        return None
    return caller.account.name
