"""SQL on tokens, found by their hash."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, text

from headway.db.accounts.accounts import account_of
from headway.db.core.prepared import hot
from headway.domain.accounts import Account, AccountRole, narrowed

CREATE = text("""
    INSERT INTO api_token (hash, name, account, role, bundles, expires_at)
    VALUES (:hash, :name, :account, :role, :bundles,
            now() + make_interval(secs => CAST(:lifetime AS float8)))
        ON CONFLICT (account, name) WHERE revoked_at IS NULL DO NOTHING
 RETURNING id
""")

FIND = hot("""
    SELECT its.name AS owner, its.role AS owner_role, its.bundles AS owner_bundles,
           token.id, token.name, token.role, token.bundles,
           coalesce(token.last_used_at < now() - interval '1 minute', true) AS stale
      FROM api_token AS token
      JOIN api_account AS its ON its.name = token.account
     WHERE token.hash = :hash
       AND token.revoked_at IS NULL
       AND (token.expires_at IS NULL OR token.expires_at > now())
       AND its.disabled_at IS NULL
""")

# Neither requests with one token nor whoever revokes it wait for each other.
TOUCH = text("""
    UPDATE api_token SET last_used_at = now()
     WHERE id = (SELECT id FROM api_token WHERE id = :id FOR NO KEY UPDATE SKIP LOCKED)
""")

REVOKE = text("""
    UPDATE api_token SET revoked_at = now()
     WHERE id = :id AND revoked_at IS NULL AND account = coalesce(:account, account)
 RETURNING account, name
""")

REVOKE_UNNAMED = text("""
    UPDATE api_token SET revoked_at = now()
     WHERE account = :account AND name IS NULL AND revoked_at IS NULL
""")

# A token with a name is listed for a month after its end.
DELETE_EXPIRED = text("""
    WITH expired AS MATERIALIZED (
        SELECT id
          FROM api_token
         WHERE least(expires_at, revoked_at)
               < now() - CASE WHEN name IS NULL THEN interval '0' ELSE interval '30 days' END
         LIMIT :most
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM api_token
     USING expired
     WHERE api_token.id = expired.id
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A token to be stored; `lifetime` is in seconds, None for one that does not expire."""

    name: str | None
    account: str
    role: AccountRole
    bundles: tuple[str, ...] | None
    lifetime: float | None
    hash: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class UsedToken:
    """What a token in force may do now, and its name, None for one given for a password."""

    account: Account
    name: str | None


def create(conn: Connection, new: NewToken) -> int | None:
    """Store a token and return its id; None if the account has one of that name."""
    parameters = {
        "hash": new.hash,
        "name": new.name,
        "account": new.account,
        "role": new.role,
        "bundles": None if new.bundles is None else list(new.bundles),
        "lifetime": new.lifetime,
    }
    number: int | None = conn.scalar(CREATE, parameters)
    return number


def use(conn: Connection, token_hash: bytes) -> UsedToken | None:
    """Return what the token may do, and note once a minute that it was used; None if nothing."""
    row = conn.execute(FIND, {"hash": token_hash}).first()
    if row is None:
        return None
    if row.stale:
        conn.execute(TOUCH, {"id": row.id})
    return UsedToken(_permitted(row), row.name)


def revoke(conn: Connection, number: int, account: str | None) -> tuple[str, str | None] | None:
    """Revoke a token, if it is of that account or None is given; return its account and name.

    None if there is no such token in force.
    """
    row = conn.execute(REVOKE, {"id": number, "account": account}).first()
    return None if row is None else (row.account, row.name)


def revoke_unnamed(conn: Connection, account: str) -> int:
    """Revoke the tokens that were given for the account's password; return how many."""
    return conn.execute(REVOKE_UNNAMED, {"account": account}).rowcount


def delete_expired(conn: Connection, most: int) -> int:
    """Delete at most so many tokens that ended long ago, and return how many."""
    return conn.execute(DELETE_EXPIRED, {"most": most}).rowcount


def _permitted(row: Any) -> Account:
    owner = account_of(row.owner, row.owner_role, row.owner_bundles)
    its = account_of(row.owner, row.role, row.bundles)
    return narrowed(owner, its.role, its.bundles)
