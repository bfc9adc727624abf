"""Accounts of people and programs."""

from http import HTTPStatus

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from headway.actions.accounts import change
from headway.db.reads import account_views
from headway.db.reads.account_views import AccountView
from headway.db.reads.pages.paging import ListPage
from headway.domain.accounts import Account, AccountRole, Permission
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.auth.changing import DryRun, changed
from headway_api.http import lists
from headway_api.http.documented import errors
from headway_api.http.lists import STREAMED, AnyList, Listed
from headway_api.http.routers import native_router

router = native_router("accounts")


class WantedAccount(BaseModel):
    """An account to create.

    Without bundles it sees every bundle.  It signs in by a password, or by OIDC as a subject of
    an issuer, or both.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=200)
    role: AccountRole
    bundles: list[str] | None = None
    # What is excluded is no part of the request's hash, which is stored.
    password: str | None = Field(default=None, max_length=2_000, repr=False, exclude=True)
    oidc_issuer: str | None = Field(default=None, max_length=2_000)
    oidc_subject: str | None = Field(default=None, max_length=2_000)
    reason: str | None = Field(default=None, max_length=2_000)


class AccountChanges(BaseModel):
    """What is to be changed of an account; null leaves what it has, and "*" is every bundle."""

    model_config = ConfigDict(extra="forbid")

    role: AccountRole | None = None
    bundles: list[str] | None = None
    password: str | None = Field(default=None, max_length=2_000, repr=False, exclude=True)
    disabled: bool | None = None
    reason: str | None = Field(default=None, max_length=2_000)


class AccountState(BaseModel):
    """An account as it is stored."""

    account: AccountView


@router.get("/accounts", response_model=Listed[AccountView], responses=STREAMED)
def list_accounts(caller: AnyCaller, request: Request, query: AnyList) -> Response:
    """List accounts, without their passwords."""
    caller.require(Permission.ADMINISTER)

    def read(limit: int, cursor: str | None) -> ListPage[AccountView]:
        asked = caller.page(limit, cursor)
        return caller.read(lambda conn: account_views.accounts_page(conn, asked))

    return lists.answer(request, query, AccountView, read)


@router.get("/accounts/{name}", responses=errors(404))
def show_account(name: str, caller: AnyCaller) -> AccountState:
    """Show an account."""
    caller.require(Permission.ADMINISTER)
    return caller.read(lambda conn: _state(conn, name))


@router.post(
    "/accounts",
    response_model=AccountState,
    status_code=HTTPStatus.CREATED,
    responses=errors(409),
)
def add_account(
    body: WantedAccount,
    caller: AnyCaller,
    request: Request,
    dry_run: DryRun = False,
) -> Response:
    """Create an account."""
    caller.require(Permission.ADMINISTER)
    bundles = None if body.bundles is None else tuple(body.bundles)
    wanted = Account(body.name, body.role, bundles)
    oidc = None
    if body.oidc_issuer is not None and body.oidc_subject is not None:
        oidc = body.oidc_issuer, body.oidc_subject

    def work(conn: Connection) -> AccountState:
        author = caller.author(body.reason)
        made = change.create_account(conn, wanted, author, password=body.password, oidc=oidc)
        return _state(conn, made.name)

    return changed(
        caller, request, work, asked=body, dry_run=dry_run, status=HTTPStatus.CREATED, tell=()
    )


@router.patch("/accounts/{name}", response_model=AccountState, responses=errors(404, 409))
def set_account(
    name: str,
    body: AccountChanges,
    caller: AnyCaller,
    request: Request,
    dry_run: DryRun = False,
) -> Response:
    """Change an account's role, bundles or password, or have it sign in no more.

    The last admin who can sign in stays one.
    """
    caller.require(Permission.ADMINISTER)

    def work(conn: Connection) -> AccountState:
        _change(conn, caller, name, body)
        return _state(conn, name)

    return changed(caller, request, work, asked=body, dry_run=dry_run, tell=())


@router.delete("/accounts/{name}", status_code=HTTPStatus.NO_CONTENT, responses=errors(404, 409))
def remove_account(
    name: str,
    caller: AnyCaller,
    request: Request,
    dry_run: DryRun = False,
) -> Response:
    """Delete an account with its sessions and tokens.  The last admin stays."""
    caller.require(Permission.ADMINISTER)

    def work(conn: Connection) -> None:
        change.delete_account(conn, name, caller.author())

    return changed(caller, request, work, dry_run=dry_run, tell=())


def _change(conn: Connection, caller: Caller, name: str, body: AccountChanges) -> None:
    author = caller.author(body.reason)
    if body.role is not None or body.bundles is not None:
        change.set_account_access(conn, name, (body.role, body.bundles), author)
    if body.password is not None:
        change.set_account_password(conn, name, body.password, author)
    if body.disabled is not None:
        act = change.disable_account if body.disabled else change.enable_account
        act(conn, name, author)


def _state(conn: Connection, name: str) -> AccountState:
    found = account_views.account(conn, name.strip().lower())
    if found is None:
        raise change.no_account(name)
    return AccountState(account=found)
