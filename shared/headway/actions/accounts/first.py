"""The first account of an installation on one machine, whose owner is its admin."""

from typing import Final

from sqlalchemy import Connection

from headway.actions.accounts import links
from headway.actions.change import Author
from headway.db.accounts import accounts
from headway.db.accounts.accounts import NewAccount
from headway.db.core import events
from headway.db.core.events import Event
from headway.db.reads import account_views
from headway.domain.accounts import Account, AccountRole
from headway.domain.arguments import JsonValue

ADMIN: Final = "admin"


def create_admin(conn: Connection, author: Author) -> bool:
    """Create the account `admin` if there is no account yet, and return whether it was created.

    It has no password until somebody sets one: tokens and links let it in.
    """
    if account_views.accounts(conn):
        return False
    account = Account(ADMIN, AccountRole.ADMIN, None)
    new = NewAccount(account=account, password_hash=None, oidc_issuer=None, oidc_subject=None)
    if not accounts.create(conn, new):
        return False
    details: dict[str, JsonValue] = {
        "account": ADMIN,
        "role": str(account.role),
        "bundles": ["*"],
    }
    events.add(conn, Event(actor=author.actor, action="account.create", details=details))
    return True


def admin_link(conn: Connection, author: Author) -> str | None:
    """Return the path of a link that signs that account in once.

    None if somebody has deleted or disabled it.
    """
    found = accounts.find(conn, ADMIN)
    if found is None or found.disabled:
        return None
    return links.create_link(conn, ADMIN, author)
