"""Tokens of accounts."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from headway.actions.accounts.tokens import TokenRequest, create_token, revoke_token
from headway.db.reads import account_views
from headway.db.reads.account_views import TokenView
from headway.db.reads.pages.paging import ListPage
from headway.domain.accounts import AccountRole, Permission, may, shown_bundles
from headway.domain.errors import RequestError
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.auth.changing import KEY, DryRun, changed
from headway_api.http import lists
from headway_api.http.documented import errors
from headway_api.http.lists import STREAMED, AnyList, Listed
from headway_api.http.routers import native_router
from headway_api.native.access import BigId

router = native_router("tokens")


class WantedToken(BaseModel):
    """A token to create; it has no more than its account, nor than who asks for it.

    Without an account it is one of the own account; without a role or bundles it has those of the
    account.  `lifetime` is in seconds, null for a token that does not expire.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=200)
    account: str | None = Field(default=None, max_length=200)
    role: AccountRole | None = None
    bundles: list[str] | None = None
    lifetime: float | None = Field(default=None, gt=0, le=3_153_600_000, allow_inf_nan=False)
    reason: str | None = Field(default=None, max_length=2_000)


class MadeToken(BaseModel):
    """A new token: `secret` is shown now and never again; it is null in a dry run."""

    id: int
    name: str | None
    account: str
    role: AccountRole
    bundles: list[str]
    secret: str | None = Field(repr=False)


@router.get("/tokens", response_model=Listed[TokenView], responses=STREAMED)
def list_tokens(
    caller: AnyCaller,
    request: Request,
    query: AnyList,
    account: Annotated[
        str | None,
        Query(description="Of this account. By default the own tokens, of an admin all tokens."),
    ] = None,
) -> Response:
    """List tokens, without their secrets. An admin sees those of every account."""
    of = _of(caller, account)

    def read(limit: int, cursor: str | None) -> ListPage[TokenView]:
        asked = caller.page(limit, cursor)
        return caller.read(lambda conn: account_views.tokens_page(conn, asked, of))

    return lists.answer(request, query, TokenView, read)


@router.post(
    "/tokens",
    response_model=MadeToken,
    status_code=HTTPStatus.CREATED,
    responses=errors(404, 409),
)
def add_token(
    body: WantedToken,
    caller: AnyCaller,
    request: Request,
    dry_run: DryRun = False,
) -> Response:
    """Create a token.  Only admins create tokens of other accounts, or by a token.

    Otherwise who finds a token of a viewer could keep that account for ever.

    There is no idempotency key for that: the answer would be stored, and has a secret.
    """
    if KEY in request.headers:
        raise RequestError("A token is created without an idempotency key; its name is taken once.")
    own = caller.account.name
    if (body.account or own) != own or caller.token is not None:
        caller.require(Permission.ADMINISTER)
    bundles = None if body.bundles is None else tuple(body.bundles)
    wanted = TokenRequest(body.account or own, body.name, body.role, bundles, body.lifetime)

    def work(conn: Connection) -> MadeToken:
        made = create_token(conn, wanted, caller.author(body.reason), asker=caller.account)
        return MadeToken(
            id=made.id,
            name=made.name,
            account=made.account.name,
            role=made.account.role,
            bundles=shown_bundles(made.account.bundles),
            secret=None if dry_run else made.secret,
        )

    return changed(
        caller, request, work, asked=body, dry_run=dry_run, status=HTTPStatus.CREATED, tell=()
    )


@router.delete("/tokens/{token_id}", status_code=HTTPStatus.NO_CONTENT, responses=errors(404, 409))
def remove_token(
    token_id: BigId,
    caller: AnyCaller,
    request: Request,
    dry_run: DryRun = False,
) -> Response:
    """Revoke a token.  Only admins revoke those of other accounts."""
    of = _of(caller, None)

    def work(conn: Connection) -> None:
        revoke_token(conn, token_id, caller.author(), of)

    return changed(caller, request, work, dry_run=dry_run, tell=())


def _of(caller: Caller, account: str | None) -> str | None:
    """Return whose tokens are meant, None for all accounts; RoleError for those of others."""
    if may(caller.account, Permission.ADMINISTER, None):
        return account
    if account not in {None, caller.account.name}:
        caller.require(Permission.ADMINISTER)
    return caller.account.name
