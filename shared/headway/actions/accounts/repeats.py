"""Answer a request that is sent again as it was answered before."""

from sqlalchemy import Connection

from headway.db.accounts import idempotency
from headway.db.accounts.idempotency import StoredAnswer
from headway.domain.accounts import Account
from headway.domain.errors import ConflictError, RequestError
from headway.runtime.secrets import bearer

LONGEST_KEY = 250


def answered(conn: Connection, account: Account, key: str, request: str) -> StoredAnswer | None:
    """Return the answer to the request that had this key within a day; None for a new request.

    A new request is carried out in this transaction, and `keep` stores its answer there.
    ConflictError if another request had the key.
    """
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise RequestError(f"An idempotency key has 1 to {LONGEST_KEY} printable characters.")
    request_hash = bearer.hash_of(request)
    found = idempotency.claim(conn, account.name, key, request_hash)
    if found is not None and found.request_hash != request_hash:
        raise ConflictError(f"The idempotency key {key[:60]!r} was used for another request.")
    return found


def keep(conn: Connection, account: Account, key: str, answer: tuple[int, str]) -> None:
    """Keep the status and the body that the request of this transaction is answered with."""
    status, body = answer
    idempotency.answer(conn, account.name, key, status, body)
