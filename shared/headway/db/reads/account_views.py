"""Accounts and tokens as lists show them: no hash of a password or a token.  Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

ACCOUNTS = text("""
    SELECT name, role, bundles, oidc_issuer, oidc_subject, created_at, disabled_at
      FROM api_account
     ORDER BY name
""")

TOKENS = text("""
    SELECT id, account, name, role, bundles, created_at, expires_at, last_used_at, revoked_at
      FROM api_token
     WHERE name IS NOT NULL AND account = coalesce(CAST(:account AS text), account)
     ORDER BY account, id
""")


@dataclass(frozen=True, slots=True)
class AccountView:
    """An account.

    `bundles` is None for every bundle.  `oidc_issuer` and `oidc_subject` are None if it does not
    sign in by OIDC, and `disabled_at` is None while it may sign in.
    """

    name: str
    role: str
    bundles: Sequence[str] | None
    oidc_issuer: str | None
    oidc_subject: str | None
    created_at: datetime
    disabled_at: datetime | None


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token with a name.

    `bundles` is None for every bundle, `expires_at` is None if it does not expire, `last_used_at`
    if it was not used, and `revoked_at` if it is not revoked.  `last_used_at` may be late by a
    minute.
    """

    id: int
    account: str
    name: str
    role: str
    bundles: Sequence[str] | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


def accounts(conn: Connection) -> list[AccountView]:
    """Return all accounts, by name."""
    return [AccountView(**row) for row in conn.execute(ACCOUNTS).mappings()]


def tokens(conn: Connection, account: str | None = None) -> list[TokenView]:
    """Return the tokens of an account, or of all if it is None, by account and number."""
    return [TokenView(**row) for row in conn.execute(TOKENS, {"account": account}).mappings()]
