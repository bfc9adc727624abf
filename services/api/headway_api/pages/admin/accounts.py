"""The accounts, for admins."""

from typing import Annotated, Final

from fastapi import Query, Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.accounts import change
from headway.db.reads import account_views
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.confirming import PageChange, carried_out, rehearsed
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import Form, page_router

router = page_router()

_PAGE: Final = 100
_ACCOUNT: Final = addresses.ACCOUNTS + "/{name}"


@router.get(addresses.ACCOUNTS)
def show_accounts(
    request: Request, caller: AnyCaller, cursor: Annotated[str | None, Query()] = None
) -> Response:
    """List accounts, without their passwords."""
    caller.require(Permission.ADMINISTER)
    asked = caller.page(_PAGE, cursor)
    found = caller.read(lambda conn: account_views.accounts_page(conn, asked))
    return page(request, "accounts.html", caller, {"found": found})


@router.get(_ACCOUNT + "/disable")
def ask_disable(request: Request, caller: AnyCaller, name: str) -> Response:
    """Ask before an account is disabled."""
    return rehearsed(request, caller, _disable(caller, name))


@router.post(_ACCOUNT + "/disable")
def disable(request: Request, caller: AnyCaller, name: str, form: Form) -> Response:
    """Disable an account."""
    return carried_out(request, caller, _disable(caller, name, form.get("reason", "")), form)


@router.get(_ACCOUNT + "/enable")
def ask_enable(request: Request, caller: AnyCaller, name: str) -> Response:
    """Ask before an account that was disabled is enabled."""
    return rehearsed(request, caller, _enable(caller, name))


@router.post(_ACCOUNT + "/enable")
def enable(request: Request, caller: AnyCaller, name: str, form: Form) -> Response:
    """Enable an account that was disabled."""
    return carried_out(request, caller, _enable(caller, name, form.get("reason", "")), form)


def _disable(caller: Caller, name: str, reason: str = "") -> PageChange:
    caller.require(Permission.ADMINISTER)

    def work(conn: Connection) -> str:
        change.disable_account(conn, name, caller.author(reason or None))
        return f"Account {name} is disabled: its sessions have ended, and its tokens are refused"

    return PageChange(f"Disable {name}", "Disable", addresses.ACCOUNTS, work)


def _enable(caller: Caller, name: str, reason: str = "") -> PageChange:
    caller.require(Permission.ADMINISTER)

    def work(conn: Connection) -> str:
        change.enable_account(conn, name, caller.author(reason or None))
        return f"Account {name} is enabled: it may sign in again"

    return PageChange(f"Enable {name}", "Enable", addresses.ACCOUNTS, work)
