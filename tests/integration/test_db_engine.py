"""Connections: what each promises, and which of their errors pass."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from headway.db import engine as engines
from headway.db.engine import is_transient
from headway.domain.errors import DatabaseError
from headway.testing.interleaving import in_background, wait_until_blocked

SHOW = text("SELECT current_setting(:name)")


@pytest.fixture
def two(engine: Engine) -> Iterator[tuple[Connection, Connection]]:
    """Two connections to a database with the pools "a" and "b"."""
    with engine.begin() as conn:
        conn.execute(text("INSERT INTO pool (name, slots) VALUES ('a', 1), ('b', 1)"))
    with engine.connect() as first, engine.connect() as second:
        yield first, second


def lock(conn: Connection, pool: str) -> None:
    conn.execute(text("SELECT FROM pool WHERE name = :pool FOR UPDATE"), {"pool": pool})


def configure(engine: Engine, setting: str) -> None:
    """Give every new connection to the test's database a default of its own."""
    with engine.begin() as conn:
        name = conn.scalar(text("SELECT current_database()"))
        conn.execute(text(f"ALTER ROLE CURRENT_USER IN DATABASE {name} SET {setting}"))
    engine.dispose()


def test_connections_are_read_committed_whatever_the_role_has(engine: Engine) -> None:
    configure(engine, "default_transaction_isolation = 'repeatable read'")

    with engine.connect() as conn:
        assert conn.scalar(SHOW, {"name": "transaction_isolation"}) == "read committed"
        conn.rollback()
        assert conn.scalar(SHOW, {"name": "transaction_isolation"}) == "read committed"


def test_connections_free_the_locks_of_who_hangs(engine: Engine) -> None:
    configure(engine, "lock_timeout = 0")

    with engine.connect() as conn:
        shown = {name: conn.scalar(SHOW, {"name": name}) for name in engines.TIMEOUTS}
        assert shown == engines.TIMEOUTS
        assert conn.scalar(SHOW, {"name": "tcp_keepalives_idle"}) is not None
        assert conn.scalar(SHOW, {"name": "TimeZone"}) == "UTC"


def test_a_replica_is_refused(engine: Engine) -> None:
    with engine.begin() as conn:
        conn.execute(text("CREATE FUNCTION public.pg_is_in_recovery() RETURNS bool RETURN true"))
    configure(engine, "search_path = public, pg_catalog")

    with pytest.raises(DatabaseError, match="read-only replica; give Headway the address of the"):
        engine.connect()


@pytest.mark.parametrize(
    ("url", "complaint"),
    [("nonsense", "cannot be read"), ("mysql://somewhere/headway", "names 'mysql'")],
)
def test_an_address_of_something_else_is_refused(url: str, complaint: str) -> None:
    with pytest.raises(DatabaseError, match=complaint):
        engines.connect(url)


def test_a_lost_connection_passes(engine: Engine, two: tuple[Connection, Connection]) -> None:
    victim, killer = two
    pid = victim.scalar(text("SELECT pg_backend_pid()"))
    killer.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": pid})

    with pytest.raises(DBAPIError) as caught:
        victim.execute(text("SELECT 1"))

    assert is_transient(caught.value)
    victim.invalidate()
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT 1")) == 1


def test_a_transaction_that_idles_too_long_passes(two: tuple[Connection, Connection]) -> None:
    conn, other = two
    pid = conn.scalar(text("SELECT pg_backend_pid()"))
    conn.execute(text("SET LOCAL idle_in_transaction_session_timeout = 1"))
    gone = text("SELECT count(*) FROM pg_stat_activity WHERE pid = :pid")
    other = other.execution_options(isolation_level="AUTOCOMMIT")
    while other.scalar(gone, {"pid": pid}):  # it ends within a millisecond
        pass

    with pytest.raises(DBAPIError) as caught:
        conn.execute(text("SELECT 1"))

    assert is_transient(caught.value)


def test_a_lock_timeout_passes(two: tuple[Connection, Connection]) -> None:
    holder, waiter = two
    lock(holder, "a")
    waiter.execute(text("SET LOCAL lock_timeout = 1"))

    with pytest.raises(DBAPIError, match="lock timeout") as caught:
        lock(waiter, "a")

    assert is_transient(caught.value)


def test_a_statement_timeout_passes(two: tuple[Connection, Connection]) -> None:
    conn, _ = two
    conn.execute(text("SET LOCAL statement_timeout = 1"))

    with pytest.raises(DBAPIError, match="statement timeout") as caught:
        conn.execute(text("SELECT pg_sleep(10)"))

    assert is_transient(caught.value)


def test_a_deadlock_passes(engine: Engine, two: tuple[Connection, Connection]) -> None:
    first, second = two
    first.execute(text("SET LOCAL deadlock_timeout = '10s'"))
    second.execute(text("SET LOCAL deadlock_timeout = '1ms'"))
    lock(first, "a")
    lock(second, "b")

    with in_background(lambda: lock(first, "b")) as waiting:
        wait_until_blocked(engine)
        with pytest.raises(DBAPIError, match="deadlock detected") as caught:
            lock(second, "a")
        second.rollback()
        waiting.result()

    assert is_transient(caught.value)


def test_a_serialization_failure_passes(two: tuple[Connection, Connection]) -> None:
    late, early = two
    late.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
    late.execute(text("SELECT FROM pool"))
    early.execute(text("UPDATE pool SET slots = 2 WHERE name = 'a'"))
    early.commit()

    with pytest.raises(DBAPIError, match="could not serialize") as caught:
        late.execute(text("UPDATE pool SET slots = 3 WHERE name = 'a'"))

    assert is_transient(caught.value)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO pool (name, slots) VALUES ('default_pool', 1)",
        "UPDATE pool SET slots = -1",
        "INSERT INTO wake (dag_run_id) VALUES (4711)",
        "UPDATE pool SET slots = NULL",
    ],
)
def test_a_violated_constraint_does_not_pass(engine: Engine, statement: str) -> None:
    with pytest.raises(IntegrityError) as caught, engine.begin() as conn:
        conn.execute(text(statement))

    assert not is_transient(caught.value)


def test_other_errors_do_not_pass(engine: Engine) -> None:
    with pytest.raises(DBAPIError) as caught, engine.begin() as conn:
        conn.execute(text("SELECT nonsense"))

    assert not is_transient(caught.value)
    assert not is_transient(ValueError("bug"))


def test_a_server_that_does_not_answer_passes() -> None:
    with pytest.raises(DBAPIError) as caught:
        engines.connect("postgresql://headway@127.0.0.1:1/none").connect()

    assert is_transient(caught.value)
