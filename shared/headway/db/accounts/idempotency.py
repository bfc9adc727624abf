"""SQL on answers that are kept for a day, for requests that are sent again."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

# Whoever sends the same key at the same time waits here for the transaction of the first one.
CLAIM = text("""
    INSERT INTO api_idempotency AS it (account, key, request_hash)
    VALUES (:account, :key, :request_hash)
        ON CONFLICT (account, key) DO UPDATE
       SET request_hash = excluded.request_hash, status = NULL, body = NULL, created_at = now()
     WHERE it.created_at < now() - interval '1 day'
 RETURNING key
""")

FIND = text("""
    SELECT request_hash, status, body FROM api_idempotency WHERE account = :account AND key = :key
""")

ANSWER = text("""
    UPDATE api_idempotency SET status = :status, body = :body
     WHERE account = :account AND key = :key
""")

DELETE_EXPIRED = text("""
    WITH expired AS MATERIALIZED (
        SELECT account, key
          FROM api_idempotency
         WHERE created_at < now() - interval '1 day'
         ORDER BY created_at
         LIMIT :most
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM api_idempotency
     USING expired
     WHERE api_idempotency.account = expired.account AND api_idempotency.key = expired.key
""")


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What a request with that key was answered; None where it has no answer."""

    request_hash: bytes
    status: int | None
    body: str | None


def claim(conn: Connection, account: str, key: str, request_hash: bytes) -> StoredAnswer | None:
    """Take a key for the request of this transaction; the stored answer if it was taken before."""
    parameters = {"account": account, "key": key, "request_hash": request_hash}
    if conn.scalar(CLAIM, parameters) is not None:
        return None
    row = conn.execute(FIND, {"account": account, "key": key}).one()
    return StoredAnswer(bytes(row.request_hash), row.status, row.body)


def answer(conn: Connection, account: str, key: str, status: int, body: str) -> None:
    """Keep the answer to the request of this transaction."""
    conn.execute(ANSWER, {"account": account, "key": key, "status": status, "body": body})


def delete_expired(conn: Connection, most: int) -> int:
    """Delete at most so many answers that are older than a day, and return how many."""
    return conn.execute(DELETE_EXPIRED, {"most": most}).rowcount
