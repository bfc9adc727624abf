"""Delete what has expired, in small portions: the API does it from time to time."""

from typing import Final

from sqlalchemy import Connection

from headway.db.accounts import idempotency, limits, links, sessions, tokens

PORTION: Final = 500


def delete_expired(conn: Connection, most: int = PORTION) -> bool:
    """Delete at most `most` rows of each table; tell whether there may be more.

    Several processes may do it at the same time: each skips what another one holds.
    """
    deleted = [
        sessions.delete_expired(conn, most),
        tokens.delete_expired(conn, most),
        links.delete_expired(conn, most),
        limits.delete_expired(conn, most),
        idempotency.delete_expired(conn, most),
    ]
    return most in deleted
