"""Create and revoke tokens.  The journal names a token and never holds it."""

from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection

from headway.actions.accounts.change import no_account
from headway.actions.change import Author
from headway.db.accounts import accounts
from headway.db.accounts import tokens as stored
from headway.db.accounts.tokens import NewToken
from headway.db.core import events
from headway.db.core.events import Event
from headway.domain.accounts import (
    Account,
    AccountRole,
    account_name,
    check_bundles,
    exceeds,
    narrowed,
    shown_bundles,
)
from headway.domain.arguments import JsonValue
from headway.domain.errors import AlreadyExistsError, RequestError, TokenNotFoundError
from headway.domain.hints import Action, act, hint
from headway.runtime.secrets import bearer
from headway.runtime.secrets.bearer import BearerKind

SHORT_LIFETIME: Final = 12 * 3600.0
LONGEST_TOKEN_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A token that somebody wants for an account; `lifetime` is in seconds, None for ever.

    Without a role it has the account's; without bundles it has those of the account.
    """

    account: str
    name: str
    role: AccountRole | None = None
    bundles: tuple[str, ...] | None = None
    lifetime: float | None = None


@dataclass(frozen=True, slots=True)
class CreatedToken:
    """A new token: `secret` is shown once, and is stored nowhere."""

    id: int
    name: str | None
    account: Account
    secret: str = field(repr=False)


def create_token(
    conn: Connection, request: TokenRequest, author: Author, asker: Account | None = None
) -> CreatedToken:
    """Create a token that has no more than its owner, nor than the account that asks for it.

    RequestError if it were to have more; AlreadyExistsError if the owner has one of that name.
    """
    owner = enabled_account(conn, request.account)
    if asker is not None:
        owner = narrowed(owner, asker.role, asker.bundles)
    role = request.role or owner.role
    bundles = owner.bundles if request.bundles is None else check_bundles(role, request.bundles)
    wanted = Account(owner.name, role, bundles)
    if exceeds(wanted, owner):
        raise RequestError(
            f"A token of {owner.name} cannot have more than {owner.name} has: the role "
            f"{owner.role} in {', '.join(shown_bundles(owner.bundles))}."
        )
    if not 0 < len(request.name) <= LONGEST_TOKEN_NAME or not request.name.isprintable():
        raise RequestError(
            f"The name of a token has 1 to {LONGEST_TOKEN_NAME} printable characters."
        )
    if request.lifetime is not None and request.lifetime <= 0:
        raise RequestError("A token expires after more than 0 seconds.")
    created = _create(conn, wanted, request.name, request.lifetime)
    if created is None:
        raise AlreadyExistsError(
            f"{owner.name} has a token {request.name!r} already.",
            hint=hint(act(Action.LIST_TOKENS), " shows them all; revoke it, or take another name."),
        )
    _enter(conn, author, "token.create", (created.id, owner.name, request.name))
    return created


def create_short_token(
    conn: Connection, account: Account, actor: str, lifetime: float = SHORT_LIFETIME
) -> CreatedToken:
    """Create a token without a name for an account that has just signed in; it lasts that long."""
    created = _create(conn, account, None, lifetime)
    assert created is not None  # only names are taken
    _enter(conn, Author(actor), "token.create", (created.id, account.name, None))
    return created


def revoke_token(conn: Connection, number: int, author: Author, account: str | None = None) -> None:
    """Revoke a token, of that account alone if one is given.

    TokenNotFoundError where there is none in force.
    """
    revoked = stored.revoke(conn, number, account)
    if revoked is None:
        raise TokenNotFoundError(
            f"There is no token {number} in force.",
            hint=hint(act(Action.LIST_TOKENS), " shows them all."),
        )
    _enter(conn, author, "token.revoke", (number, *revoked))


def enabled_account(conn: Connection, name: str) -> Account:
    """Return an account, locked.

    AccountNotFoundError without it; RequestError if it is disabled.
    """
    name = account_name(name)
    found = accounts.lock(conn, name)
    if found is None:
        raise no_account(name)
    if found.disabled:
        raise RequestError(f"The account {name} is disabled.")
    return found.account


def _create(
    conn: Connection, account: Account, name: str | None, lifetime: float | None
) -> CreatedToken | None:
    secret = bearer.make(BearerKind.TOKEN)
    new = NewToken(
        name=name,
        account=account.name,
        role=account.role,
        bundles=account.bundles,
        lifetime=lifetime,
        hash=secret.hash,
    )
    number = stored.create(conn, new)
    return None if number is None else CreatedToken(number, name, account, secret.text)


def _enter(conn: Connection, author: Author, action: str, its: tuple[int, str, str | None]) -> None:
    number, account, name = its
    details: dict[str, JsonValue] = {"token": number, "account": account}
    if name is not None:
        details["name"] = name
    if author.reason is not None:
        details["reason"] = author.reason
    events.add(conn, Event(actor=author.actor, action=action, details=details))
