"""SQL on links that sign in once, found by their hash."""

from sqlalchemy import Connection, text

CREATE = text("""
    INSERT INTO api_login_link (hash, account, expires_at)
    VALUES (:hash, :account, now() + make_interval(secs => :lifetime))
""")

# The second one of two at once waits for the first, and then finds the link used.
USE = text("""
    UPDATE api_login_link SET used_at = now()
     WHERE hash = :hash AND used_at IS NULL AND expires_at > now()
 RETURNING account
""")

DELETE_ALL = text("DELETE FROM api_login_link WHERE account = :account")

DELETE_EXPIRED = text("""
    WITH expired AS MATERIALIZED (
        SELECT hash
          FROM api_login_link
         WHERE expires_at < now()
         ORDER BY expires_at
         LIMIT :most
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM api_login_link
     USING expired
     WHERE api_login_link.hash = expired.hash
""")


def create(conn: Connection, link_hash: bytes, account: str, lifetime: float) -> None:
    """Store a link that expires after so many seconds."""
    conn.execute(CREATE, {"hash": link_hash, "account": account, "lifetime": lifetime})


def use(conn: Connection, link_hash: bytes) -> str | None:
    """Use a link, and return whose it is; None if there is none, or it is used or expired."""
    account: str | None = conn.scalar(USE, {"hash": link_hash})
    return account


def delete_all(conn: Connection, account: str) -> None:
    """Delete the links of an account."""
    conn.execute(DELETE_ALL, {"account": account})


def delete_expired(conn: Connection, most: int) -> int:
    """Delete at most so many links that have expired, and return how many."""
    return conn.execute(DELETE_EXPIRED, {"most": most}).rowcount
