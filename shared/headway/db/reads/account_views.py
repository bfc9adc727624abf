"""Accounts and tokens as lists show them: no hash of a password or a token.  Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage

ACCOUNTS = hot("""
    SELECT name, role, bundles, oidc_issuer, oidc_subject, created_at, disabled_at
      FROM api_account
     WHERE (CAST(:name AS text) IS NULL OR name = :name)
       AND (CAST(:after AS text) IS NULL OR name > :after)
     ORDER BY name
     LIMIT :limit
""")

TOKENS = hot("""
    SELECT id, account, name, role, bundles, created_at, expires_at, last_used_at, revoked_at
      FROM api_token
     WHERE name IS NOT NULL AND account = coalesce(CAST(:account AS text), account)
       AND (CAST(:after_id AS bigint) IS NULL OR (account, id) > (:after_account, :after_id))
     ORDER BY account, id
     LIMIT :limit
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
    return _accounts(conn)


def account(conn: Connection, name: str) -> AccountView | None:
    """Return the account of that name; None when there is none."""
    return next(iter(_accounts(conn, name=name)), None)


def accounts_page(conn: Connection, asked: Asked) -> ListPage[AccountView]:
    """Return a page of the accounts, by name."""
    listing = PagedList("accounts", (str,), "name")
    (after,) = listing.key(asked.cursor) or (None,)
    rows = _accounts(conn, after=after, limit=asked.limit + 1)
    return paging.listed(rows, asked.limit, listing, lambda row: (row.name,))


def tokens(conn: Connection, account: str | None = None) -> list[TokenView]:
    """Return the tokens of an account, or of all if it is None, by account and number."""
    return _tokens(conn, account, (None, None), None)


def tokens_page(conn: Connection, asked: Asked, account: str | None = None) -> ListPage[TokenView]:
    """Return a page of the tokens of an account, or of all if it is None."""
    listing = PagedList("tokens", (str, int), "account", filters={"account": account})
    after = listing.key(asked.cursor) or (None, None)
    rows = _tokens(conn, account, after, asked.limit + 1)
    return paging.listed(rows, asked.limit, listing, lambda row: (row.account, row.id))


def _accounts(conn: Connection, **given: object) -> list[AccountView]:
    wanted = {"name": None, "after": None, "limit": None, **given}
    return [AccountView(**row) for row in conn.execute(ACCOUNTS, wanted).mappings()]


def _tokens(
    conn: Connection, account: str | None, after: Sequence[object], limit: int | None
) -> list[TokenView]:
    wanted = {
        "account": account,
        "after_account": after[0],
        "after_id": after[1],
        "limit": limit,
    }
    return [TokenView(**row) for row in conn.execute(TOKENS, wanted).mappings()]
