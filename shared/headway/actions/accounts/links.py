"""Create and use links that sign a browser in once, without a password."""

from typing import Final

from sqlalchemy import Connection

from headway.actions.accounts.sign_in import SignInRefused, enabled
from headway.actions.accounts.tokens import enabled_account
from headway.actions.change import Author
from headway.db.accounts import accounts
from headway.db.accounts import links as stored
from headway.db.core import events
from headway.db.core.events import Event
from headway.domain.accounts import Account
from headway.domain.arguments import JsonValue
from headway.runtime.secrets import bearer
from headway.runtime.secrets.bearer import BearerKind

LIFETIME: Final = 300.0

PAGE: Final = "/auth/link"
"""The page of the API that a link opens."""


def create_link(conn: Connection, account: str, author: Author, lifetime: float = LIFETIME) -> str:
    """Return the path of a link that signs an account in once, within `lifetime` seconds.

    The secret is its fragment, which a browser sends to no server: only the page reads it.

    AccountNotFoundError without the account; RequestError if it is disabled.
    """
    name = enabled_account(conn, account).name
    secret = bearer.make(BearerKind.LINK)
    stored.create(conn, secret.hash, name, lifetime)
    details: dict[str, JsonValue] = {"account": name}
    if author.reason is not None:
        details["reason"] = author.reason
    events.add(conn, Event(actor=author.actor, action="link.create", details=details))
    return f"{PAGE}#{secret.text}"


def use_link(conn: Connection, secret: str) -> Account | SignInRefused:
    """Use a link, and return whom it signs in; it is refused from then on."""
    name = stored.use(conn, bearer.hash_of(secret))
    return enabled(None if name is None else accounts.find(conn, name))
