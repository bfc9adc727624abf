"""The connection to Postgres: one way to make it, with the promises that every query relies on."""

from typing import Any, Final

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from headway.domain.errors import DatabaseError

TIMEOUTS: Final = {
    "statement_timeout": "30s",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "10s",
    "default_transaction_isolation": "read committed",
}
"""What frees a lock whose holder hangs, and the isolation that "lock, then count" needs."""

KEEPALIVES: Final = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    "connect_timeout": 5,
}

_TRANSIENT: Final = frozenset(
    {
        "40001",  # serialization failure
        "40P01",  # deadlock detected
        "55P03",  # lock timeout
        "57014",  # statement timeout
        "57P01",  # the server is shutting down
        "57P02",  # the server crashed
        "57P03",  # the server is starting up
        "25P03",  # idle in a transaction for too long
        "53300",  # too many connections
        "53100",  # disk full
    }
)


def connect(url: str, *, name: str = "headway", pool_size: int = 5) -> Engine:
    """Return an engine for `url`, a `postgresql://` address; nothing is connected yet.

    Every connection runs READ COMMITTED, in UTC, on the primary, with timeouts that
    free the locks of a process that hangs.
    """
    try:
        address = make_url(url)
    except (ArgumentError, ValueError) as error:  # the latter when the port is no number
        raise DatabaseError(
            "The database URL cannot be read; write postgresql://user:password@host:port/name."
        ) from error
    if address.get_backend_name() != "postgresql":
        raise DatabaseError(
            f"Headway needs Postgres; the database URL names {address.get_backend_name()!r}."
        )
    engine = create_engine(
        address.set(drivername="postgresql+psycopg2"),
        pool_size=pool_size,
        max_overflow=0,
        pool_pre_ping=False,
        connect_args={**KEEPALIVES, "application_name": name},
    )
    event.listen(engine, "connect", _prepare)
    return engine


def is_transient(error: BaseException) -> bool:
    """Tell whether the same work may succeed when it is tried again from its start."""
    if isinstance(error, NoConnectionLeft):
        return True
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated or isinstance(error, InterfaceError):
        return True
    code = getattr(error.orig, "pgcode", None)
    if code is None:
        return isinstance(error, OperationalError)
    return code in _TRANSIENT or code.startswith("08")


def _prepare(connection: Any, _record: object) -> None:
    with connection.cursor() as cursor:
        for setting, value in {**TIMEOUTS, "timezone": "UTC"}.items():
            cursor.execute("SELECT set_config(%s, %s, false)", (setting, value))
        cursor.execute("SELECT pg_is_in_recovery()")
        if cursor.fetchone()[0]:
            raise DatabaseError(
                "The database is a read-only replica; give Headway the address of the primary."
            )
    connection.commit()
