"""Create, change, disable and delete accounts.

Each action enters an event, which names the account and never a password or a hash of one.
"""

from collections.abc import Collection

from sqlalchemy import Connection

from headway.actions.change import Author
from headway.db.accounts import accounts, links, sessions, tokens
from headway.db.accounts.accounts import NewAccount, StoredAccount
from headway.db.core import events
from headway.db.core.events import Event
from headway.domain.accounts import (
    Account,
    AccountRole,
    account_name,
    check_bundles,
    check_password,
    shown_bundles,
)
from headway.domain.arguments import JsonValue
from headway.domain.errors import (
    AccountNotFoundError,
    AlreadyExistsError,
    ConflictError,
    RequestError,
)
from headway.domain.hints import Action, act, hint
from headway.runtime.secrets import passwords


def create_account(
    conn: Connection,
    wanted: Account,
    author: Author,
    *,
    password: str | None = None,
    oidc: tuple[str, str] | None = None,
) -> Account:
    """Create an account, and return it; `oidc` is its issuer and subject.

    AlreadyExistsError if the name or the subject is taken.
    """
    name = account_name(wanted.name)
    account = Account(name, wanted.role, check_bundles(wanted.role, wanted.bundles))
    if password is None and oidc is None:
        raise RequestError("An account needs a password, or an issuer and a subject of OIDC.")
    digest = None if password is None else passwords.hashed(check_password(name, password))
    issuer, subject = oidc or (None, None)
    new = NewAccount(
        account=account, password_hash=digest, oidc_issuer=issuer, oidc_subject=subject
    )
    if not accounts.create(conn, new):
        raise AlreadyExistsError(
            f"There is an account {name!r} already, or one of that subject.",
            hint=hint(act(Action.LIST_ACCOUNTS), " shows them all."),
        )
    _enter(conn, author, "account.create", account)
    return account


def set_account_access(
    conn: Connection,
    name: str,
    access: tuple[AccountRole | None, Collection[str] | None],
    author: Author,
) -> Account:
    """Give an account a role and bundles; None leaves what it has, and `*` is every bundle.

    Its sessions and tokens have no more from now on.  A new admin sees every bundle.
    ConflictError for the last admin.
    """
    found = _locked(conn, name)
    role = access[0] or found.account.role
    kept = None if role is AccountRole.ADMIN else found.account.bundles
    bundles = kept if access[1] is None else check_bundles(role, access[1])
    account = Account(found.account.name, role, bundles)
    if role is not AccountRole.ADMIN:
        _keep_an_admin(conn, found)
    accounts.set_role(conn, account)
    _enter(conn, author, "account.set", account)
    return account


def set_account_password(conn: Connection, name: str, password: str, author: Author) -> None:
    """Give an account another password; its sessions, links and short tokens end."""
    found = _locked(conn, name)
    name = found.account.name
    accounts.set_password(conn, name, passwords.hashed(check_password(name, password)))
    sessions.end_all(conn, name)
    links.delete_all(conn, name)
    tokens.revoke_unnamed(conn, name)
    _enter(conn, author, "account.password", found.account)


def disable_account(conn: Connection, name: str, author: Author) -> None:
    """Have an account sign in no more; its sessions end, and its tokens are refused.

    ConflictError for the last admin.
    """
    found = _locked(conn, name)
    _keep_an_admin(conn, found)
    accounts.disable(conn, found.account.name)
    sessions.end_all(conn, found.account.name)
    links.delete_all(conn, found.account.name)
    _enter(conn, author, "account.disable", found.account)


def enable_account(conn: Connection, name: str, author: Author) -> None:
    """Have an account that was disabled sign in again."""
    found = _locked(conn, name)
    accounts.enable(conn, found.account.name)
    _enter(conn, author, "account.enable", found.account)


def delete_account(conn: Connection, name: str, author: Author) -> None:
    """Delete an account with its sessions and tokens.  ConflictError for the last admin."""
    found = _locked(conn, name)
    _keep_an_admin(conn, found)
    accounts.delete(conn, found.account.name)
    _enter(conn, author, "account.delete", found.account)


def no_account(name: str) -> AccountNotFoundError:
    """Return the error for an account that is not there."""
    return AccountNotFoundError(
        f"There is no account {name!r}.", hint=hint(act(Action.LIST_ACCOUNTS), " shows them all.")
    )


def _locked(conn: Connection, name: str) -> StoredAccount:
    name = account_name(name)
    # Before the account itself: all who lock several accounts lock them in one order.
    accounts.lock_admins(conn)
    found = accounts.lock(conn, name)
    if found is None:
        raise no_account(name)
    return found


def _keep_an_admin(conn: Connection, found: StoredAccount) -> None:
    is_admin = found.account.role is AccountRole.ADMIN and not found.disabled
    if is_admin and not accounts.has_other_admin(conn, found.account.name):
        raise ConflictError(
            f"{found.account.name} is the only admin who can sign in; let another one be there "
            "first."
        )


def _enter(conn: Connection, author: Author, action: str, account: Account) -> None:
    details: dict[str, JsonValue] = {
        "account": account.name,
        "role": str(account.role),
        "bundles": [*shown_bundles(account.bundles)],
    }
    if author.reason is not None:
        details["reason"] = author.reason
    events.add(conn, Event(actor=author.actor, action=action, details=details))
