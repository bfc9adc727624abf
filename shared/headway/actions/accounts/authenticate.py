"""Find out whose a request is, by the token or the session that it shows."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from headway.db.accounts import in_force, sessions, tokens
from headway.domain.accounts import Account
from headway.runtime.secrets import bearer

IDLE_TIMEOUT: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Authenticated:
    """What a request may do, and who the journal says has made it.

    That is "user:ann", or "token:ann/ci" for the token ci of ann.  `token` is the name of that
    token; None if a password, a link or a provider has said who it is.
    """

    account: Account
    actor: str
    token: str | None = None


def by_session(conn: Connection, session: str, idle: float = IDLE_TIMEOUT) -> Authenticated | None:
    """Return whose session that is; None if it has ended, or was idle for so many seconds."""
    account = sessions.use(conn, bearer.hash_of(session), idle)
    return None if account is None else Authenticated(account, f"user:{account.name}")


def by_token(conn: Connection, token: str) -> Authenticated | None:
    """Return what a token may do; None if it is unknown, expired or revoked."""
    found = tokens.use(conn, bearer.hash_of(token))
    if found is None:
        return None
    name = found.account.name
    actor = f"user:{name}" if found.name is None else f"token:{name}/{found.name}"
    return Authenticated(found.account, actor, found.name)


def still(
    conn: Connection,
    tokens_shown: Collection[bytes],
    sessions_shown: Collection[bytes],
    idle: float = IDLE_TIMEOUT,
) -> dict[bytes, Account]:
    """Return what each of these may do now, by the hash of its secret, without what has ended.

    To ask does not count as a use.
    """
    return in_force.accounts(conn, tokens_shown, sessions_shown, idle)
