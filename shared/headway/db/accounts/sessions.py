"""SQL on sessions: browsers that are signed in, found by the hash of their id."""

from sqlalchemy import Connection, text

from headway.db.accounts.accounts import account_of
from headway.db.core.prepared import hot
from headway.domain.accounts import Account

OPEN = text("""
    INSERT INTO api_session (id_hash, account, expires_at)
    VALUES (:id_hash, :account, now() + make_interval(secs => :lifetime))
""")

FIND = hot("""
    SELECT its.name, its.role, its.bundles,
           api_session.seen_at < now() - interval '1 minute' AS stale
      FROM api_session
      JOIN api_account AS its ON its.name = api_session.account
     WHERE api_session.id_hash = :id_hash
       AND api_session.expires_at > now()
       AND api_session.seen_at > now() - make_interval(secs => :idle)
       AND its.disabled_at IS NULL
""")

# Requests of one session at the same time do not wait for each other.
TOUCH = text("""
    UPDATE api_session SET seen_at = now()
     WHERE id_hash = (SELECT id_hash FROM api_session
                       WHERE id_hash = :id_hash
                         FOR NO KEY UPDATE SKIP LOCKED)
""")

CLOSE = text("DELETE FROM api_session WHERE id_hash = :id_hash RETURNING account")

CLOSE_ALL = text("DELETE FROM api_session WHERE account = :account")

DELETE_EXPIRED = text("""
    WITH expired AS MATERIALIZED (
        SELECT id_hash
          FROM api_session
         WHERE expires_at < now()
         ORDER BY expires_at
         LIMIT :most
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM api_session
     USING expired
     WHERE api_session.id_hash = expired.id_hash
""")


def begin(conn: Connection, id_hash: bytes, account: str, lifetime: float) -> None:
    """Store a session that ends after so many seconds."""
    conn.execute(OPEN, {"id_hash": id_hash, "account": account, "lifetime": lifetime})


def use(conn: Connection, id_hash: bytes, idle: float) -> Account | None:
    """Return whose session that is, and note once a minute that it was seen.

    None if there is none, if it has ended or was not seen for `idle` seconds, or if its account is
    disabled.
    """
    row = conn.execute(FIND, {"id_hash": id_hash, "idle": idle}).first()
    if row is None:
        return None
    if row.stale:
        conn.execute(TOUCH, {"id_hash": id_hash})
    return account_of(row.name, row.role, row.bundles)


def end(conn: Connection, id_hash: bytes) -> str | None:
    """End a session, and return whose it was; None if there is none."""
    account: str | None = conn.scalar(CLOSE, {"id_hash": id_hash})
    return account


def end_all(conn: Connection, account: str) -> int:
    """End all sessions of an account, and return how many."""
    return conn.execute(CLOSE_ALL, {"account": account}).rowcount


def delete_expired(conn: Connection, most: int) -> int:
    """Delete at most so many sessions that have ended, and return how many."""
    return conn.execute(DELETE_EXPIRED, {"most": most}).rowcount
