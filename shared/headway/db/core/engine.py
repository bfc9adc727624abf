"""The connection to Postgres: one way to make it, with the promises that every query relies on."""

from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from headway.db.core import giving_back, identity, prepared
from headway.db.core.login_refusal import is_refusal, sqlstate_of_login
from headway.domain.errors import DatabaseError, ReplicaError
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.settings import configuration
from headway.runtime.settings.database import DatabaseSettings

TIMEOUTS: Final = {
    "statement_timeout": "30s",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "10s",
}
"""What frees a lock whose holder hangs."""

ISOLATION: Final = "read committed"
"""What "lock, then count" needs: a later statement sees what was committed before it."""

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
        "57P05",  # idle for too long
        "25P03",  # idle in a transaction for too long
        "25P04",  # in a transaction for too long
        "25006",  # read-only: a provider's answer to a full disk, or a fail-over
        "53100",  # disk full
        "53200",  # out of memory
        "53300",  # too many connections
    }
)

_NOTHING_TO_SEND: Final = "no password supplied"
"""What libpq says, always in English, when a server asks for a password and there is none."""

_READ_ONLY: Final = text("SHOW transaction_read_only")

PLANS: Final = {"enable_seqscan": "off", "jit": "off", "plan_cache_mode": "force_generic_plan"}
"""How statements are planned on every server, whatever its configuration says.

While a table is small, a full read of the table looks cheapest, and that plan stays when the
table has grown.  JIT compiles a long statement for a second before it reads a few rows.  Left to
itself, Postgres plans a claim and a report anew in each execution, which takes longer than to
execute them (ADR 0009).
"""

_SETTINGS: Final = {**TIMEOUTS, **PLANS, "timezone": "UTC"}
_IN_ORDER: Final = ", ".join(["set_config(%s, %s, %s)"] * len(_SETTINGS))
_PROMISE: Final = (
    f"SELECT current_setting('transaction_isolation'), pg_is_in_recovery(), {_IN_ORDER}"
)

_IN_ONE_READING: Final = "SELECT {}; ".format(
    ", ".join(f"set_config('{name}', '{value}', true)" for name, value in _SETTINGS.items())
)
"""What a single read behind a pooler begins with: both statements are one transaction."""

_READERS: Final[WeakKeyDictionary[Engine, Engine]] = WeakKeyDictionary()
_READERS_MOST: Final = 8


def connect(
    url: str, *, name: str = "headway", pool_size: int = 5, pooler: bool | None = None
) -> Engine:
    """Return an engine for `url`, a `postgresql://` address; nothing is connected yet.

    Every transaction runs READ COMMITTED, in UTC, on the primary, with timeouts that
    free the locks of a process that hangs.  They are settings of the connection; where a
    `pooler` hands the server's connections from one client to another after every
    transaction, each one begins by a statement that makes them for itself.  Unless it is
    said here, HEADWAY_DATABASE_POOLER tells whether there is one.
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
    pooler = configuration.read(DatabaseSettings).pooler if pooler is None else pooler
    engine = create_engine(
        address.set(drivername="postgresql+psycopg2"),
        isolation_level=ISOLATION.upper(),  # every BEGIN names it, whatever the role's default
        pool_size=pool_size,
        max_overflow=0,
        pool_use_lifo=True,  # so that few servers hold the hot statements, and the others little
        pool_reset_on_return=None,
        hide_parameters=True,  # in the text of errors, which goes into logs, and to tasks
        connect_args={**KEEPALIVES, "application_name": name},
    )
    giving_back.install(engine)
    if pooler:
        event.listen(engine, "begin", _prepare_transaction)
    else:
        event.listen(engine, "connect", _prepare_connection)
        prepared.install(engine)
    identity.prepare(engine, pooled=pooler)
    return engine


def with_password(url: str, password: str) -> str:
    """Return the address with that password, unless it has one; a malformed one as it is."""
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        return url  # `connect` says what is wrong
    if address.password is None:
        address = address.set(password=password)
    return address.render_as_string(hide_password=False)


def reader(engine: Engine, pool_size: int = _READERS_MOST, name: str = "headway reader") -> Engine:
    """Return the engine for single reads at the same address, with connections of its own.

    Each statement is a transaction of its own, without the round trips of BEGIN and
    COMMIT, nor those of switching to that and back.  Behind a pooler each statement is sent
    together with the connection's settings: Postgres runs both as one transaction.  What is
    read this way decides nothing; it may be old news.
    """
    found = _READERS.get(engine)
    if found is None:
        found = create_engine(
            engine.url,
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,
            pool_size=pool_size,
            max_overflow=0,
            pool_use_lifo=True,
            pool_reset_on_return=None,
            connect_args={**KEEPALIVES, "application_name": name},
        )
        giving_back.install(found)
        if event.contains(engine, "begin", _prepare_transaction):
            event.listen(found, "before_cursor_execute", _prepare_statement, retval=True)
        else:
            event.listen(found, "connect", _prepare_reading)
            prepared.install(found)
        event.listen(engine, "engine_disposed", lambda _engine: found.dispose())
        _READERS[engine] = found
    return found


def refuse_read_only(conn: Connection) -> None:
    """Raise DatabaseError when this connection may not write, for a service that starts."""
    if conn.scalar(_READ_ONLY) == "on":
        raise DatabaseError(
            "The database lets this account read only: default_transaction_read_only is on. "
            "Switch it off for the account of the service."
        )


def is_transient(error: BaseException) -> bool:
    """Tell whether the same work may succeed when it is tried again from its start.

    It may have been done already: the answer to a COMMIT can be lost.
    """
    if isinstance(error, NoConnectionLeft | ReplicaError):
        return True
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated or isinstance(error, InterfaceError):
        return True
    code = getattr(error.orig, "pgcode", None)
    if code is None:
        return isinstance(error, OperationalError)
    return code in _TRANSIENT or code.startswith("08")


def is_away(error: BaseException, engine: Engine) -> bool:
    """Tell whether the database does not answer now and may later; not so if it refuses a login.

    A refused login has no code in the error: `login_refusal` asks the server for it.
    """
    if isinstance(error, ReplicaError) or not is_transient(error):
        return False
    if not isinstance(error, OperationalError) or getattr(error.orig, "pgcode", None):
        return True
    if _NOTHING_TO_SEND in str(error):
        return False
    address = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    return not is_refusal(sqlstate_of_login(address, SystemClock()))


def _prepare_connection(connection: Any, _record: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_PROMISE, _values(for_transaction=False))
        isolation, is_replica, *_ = cursor.fetchone()
    connection.commit()
    _refuse(isolation, is_replica)


def _prepare_reading(connection: Any, _record: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_PROMISE, _values(for_transaction=False))
        _isolation, is_replica, *_ = cursor.fetchone()
    _refuse(ISOLATION, is_replica)  # of single statements every isolation is as good


def _prepare_transaction(conn: Connection) -> None:
    if conn.connection.driver_connection.autocommit:  # type: ignore[union-attr]
        return
    row = conn.exec_driver_sql(_PROMISE, _values(for_transaction=True)).one()
    _refuse(row[0], row[1])


def _prepare_statement(
    _conn: object, _cursor: object, statement: str, parameters: Any, *_: object
) -> tuple[str, Any]:
    return _IN_ONE_READING + statement, parameters


def _values(*, for_transaction: bool) -> tuple[object, ...]:
    return tuple(value for setting in _SETTINGS.items() for value in (*setting, for_transaction))


def _refuse(isolation: str, is_replica: bool) -> None:
    if is_replica:
        raise ReplicaError(
            "The database is a read-only replica; give Headway the address of the primary."
        )
    if isolation != ISOLATION:
        raise DatabaseError(
            f"The database runs transactions {isolation.upper()} although {ISOLATION.upper()} was "
            "asked for, and Headway's limits would not hold. Connect without what is in between."
        )
