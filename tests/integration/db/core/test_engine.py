"""Connections: what each promises, and which of their errors pass."""

from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import pytest
from psycopg2.extensions import TRANSACTION_STATUS_IDLE as IDLE
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError

from headway.db.core import engine as engines
from headway.db.core.engine import is_transient, reader
from headway.domain.errors import DatabaseError, ReplicaError
from headway.testing.database.interleaving import in_background, wait_until_blocked
from headway.testing.processes import modes

END_ALL = text("""
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
""")
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


@pytest.fixture(params=["direct", "pooler"])
def either(request: pytest.FixtureRequest, database_url: str) -> Iterator[Engine]:
    """Connections that keep their promises once for all, and such that do for a transaction."""
    pooler = request.param == "pooler" or modes.pooled()
    engine = engines.connect(database_url, name="test", pooler=pooler)
    yield engine
    engine.dispose()


def configure(engine: Engine, setting: str) -> None:
    """Give every connection to the test's database a default of its own from now on."""
    with engine.begin() as conn:
        name = conn.scalar(text("SELECT current_database()"))
        conn.execute(text(f"ALTER ROLE CURRENT_USER IN DATABASE {name} SET {setting}"))
    with suppress(DBAPIError), engine.begin() as conn:
        conn.execute(END_ALL)
    engine.dispose()


def isolation(conn: Connection) -> str:
    return str(conn.scalar(SHOW, {"name": "transaction_isolation"}))


@pytest.mark.parametrize("default", ["repeatable read", "serializable"])
def test_transactions_are_read_committed_whatever_the_role_has(
    either: Engine, default: str
) -> None:
    configure(either, f"default_transaction_isolation = '{default}'")

    with either.connect() as conn:
        for _ in range(3):
            assert isolation(conn) == "read committed"
            conn.rollback()


def test_transactions_are_read_committed_whatever_the_database_has(either: Engine) -> None:
    with either.begin() as conn:
        name = conn.scalar(text("SELECT current_database()"))
        conn.execute(
            text(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
        )
    configure(either, "work_mem = '4MB'")

    with either.connect() as conn:
        assert conn.scalar(SHOW, {"name": "default_transaction_isolation"}) == "repeatable read"
        assert isolation(conn) == "read committed"


def test_after_a_read_of_its_own_a_transaction_is_read_committed_again(either: Engine) -> None:
    configure(either, "default_transaction_isolation = 'repeatable read'")
    with engines.reader(either).connect() as conn:
        conn.scalar(text("SELECT 1"))

    with either.connect() as conn:
        assert isolation(conn) == "read committed"


def test_an_isolation_that_cannot_be_had_is_refused(either: Engine) -> None:
    with either.begin() as conn:
        conn.execute(
            text("""
                CREATE FUNCTION public.current_setting(text) RETURNS text
                RETURN CASE $1 WHEN 'transaction_isolation' THEN 'serializable' END
            """)
        )
    configure(either, "search_path = public, pg_catalog")

    with pytest.raises(DatabaseError, match="runs transactions SERIALIZABLE although READ COMM"):
        begin(either)


def test_transactions_free_the_locks_of_who_hangs(either: Engine) -> None:
    configure(either, "lock_timeout = 0")

    with either.connect() as conn:
        for _ in range(3):
            shown = {name: conn.scalar(SHOW, {"name": name}) for name in engines.TIMEOUTS}
            assert shown == engines.TIMEOUTS
            assert conn.scalar(SHOW, {"name": "tcp_keepalives_idle"}) is not None
            assert conn.scalar(SHOW, {"name": "TimeZone"}) == "UTC"
            conn.rollback()


def test_behind_a_pooler_nothing_is_left_in_the_connection(database_url: str) -> None:
    engine = engines.connect(database_url, pooler=True)
    with engine.begin() as conn:
        assert conn.scalar(SHOW, {"name": "lock_timeout"}) == "5s"
    with engines.reader(engine).connect() as conn:
        assert conn.scalar(SHOW, {"name": "lock_timeout"}) == "5s"

    for each in (engine, engines.reader(engine)):
        raw = each.raw_connection()
        with closing(raw.cursor()) as cursor:
            cursor.execute("SHOW lock_timeout")
            assert cursor.fetchone() == ("0",)
        raw.close()
    engine.dispose()


@pytest.mark.regression
@pytest.mark.parametrize("which", [lambda engine: engine, reader], ids=["writing", "reading"])
def test_statements_are_planned_alike_whatever_the_server_has(
    either: Engine, which: Callable[[Engine], Engine]
) -> None:
    """Debian's server has JIT on, which takes a second to compile the statement of a pass."""
    for setting in ("jit = on", "plan_cache_mode = force_custom_plan", "enable_seqscan = on"):
        configure(either, setting)

    with which(either).connect() as conn:
        for _ in range(3):
            shown = {name: conn.scalar(SHOW, {"name": name}) for name in engines.PLANS}
            assert shown == {
                "enable_seqscan": "off",
                "jit": "off",
                "plan_cache_mode": "force_generic_plan",
            }
            conn.rollback()


def test_a_read_of_its_own_is_in_no_transaction_and_keeps_no_connection(engine: Engine) -> None:
    look = text(
        "SELECT xact_start = query_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    )
    with engines.reader(engine).connect() as conn:
        assert conn.scalar(look)
        assert conn.connection.driver_connection is not None
        assert conn.connection.driver_connection.get_transaction_status() == IDLE


def test_a_replica_is_refused(either: Engine) -> None:
    with either.begin() as conn:
        conn.execute(text("CREATE FUNCTION public.pg_is_in_recovery() RETURNS bool RETURN true"))
    configure(either, "search_path = public, pg_catalog")

    with pytest.raises(ReplicaError, match="read-only replica; give Headway the address") as caught:
        begin(either)

    assert is_transient(caught.value), "a fail-over is over some time"


def test_an_account_that_may_only_read_is_no_account_for_a_service(engine: Engine) -> None:
    with engine.begin() as conn:
        engines.refuse_read_only(conn)
    configure(engine, "default_transaction_read_only = on")

    with pytest.raises(DatabaseError, match="Switch it off"), engine.begin() as conn:
        engines.refuse_read_only(conn)


def test_a_database_that_takes_no_writes_for_now_passes(engine: Engine) -> None:
    with engine.begin() as conn:
        conn.execute(text("SET TRANSACTION READ ONLY"))
        with pytest.raises(DBAPIError) as caught:
            conn.execute(text("UPDATE pool SET slots = 2"))

    assert is_transient(caught.value)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [("nonsense", "cannot be read"), ("mysql://somewhere/headway", "names 'mysql'")],
)
def test_an_address_of_something_else_is_refused(url: str, complaint: str) -> None:
    with pytest.raises(DatabaseError, match=complaint):
        engines.connect(url)


def begin(engine: Engine) -> None:
    with engine.connect() as conn:
        conn.execute(text("SELECT 1"))


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


def test_a_connection_that_is_closed_meanwhile_passes(engine: Engine) -> None:
    with engine.connect() as conn:
        assert conn.connection.driver_connection is not None
        conn.connection.driver_connection.close()

        with pytest.raises(InterfaceError) as caught:
            conn.execute(text("SELECT 1"))

    assert is_transient(caught.value)


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


def test_a_serialization_failure_passes(database_url: str) -> None:
    engine = engines.connect(database_url, pooler=False)
    snapshots = engine.execution_options(isolation_level="REPEATABLE READ")
    with snapshots.connect() as late, engine.connect() as early:
        late.execute(text("SELECT FROM pool"))
        early.execute(text("UPDATE pool SET slots = 2"))
        early.commit()

        with pytest.raises(DBAPIError, match="could not serialize") as caught:
            late.execute(text("UPDATE pool SET slots = 3"))

    assert is_transient(caught.value)
    engine.dispose()


def fail(engine: Engine, code: str) -> DBAPIError:
    """Return the error of a statement that fails with that code."""
    with pytest.raises(DBAPIError) as caught, engine.begin() as conn:
        conn.execute(text(f"DO $$ BEGIN RAISE SQLSTATE '{code}'; END $$"))
    return caught.value


@pytest.mark.parametrize(
    "code",
    [
        *("40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03", "57P05"),
        *("25P03", "25P04", "25006", "53100", "53200", "53300", "08006", "08P01"),
    ],
)
def test_an_error_that_has_done_nothing_and_may_not_come_again_passes(
    engine: Engine, code: str
) -> None:
    assert is_transient(fail(engine, code))


@pytest.mark.parametrize("code", ["ZX001", "42501", "22003", "23505", "XX000", "P0001"])
def test_an_error_that_will_come_again_does_not_pass(engine: Engine, code: str) -> None:
    assert not is_transient(fail(engine, code))


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO pool (name, slots) VALUES ('default_pool', 1)",
        "UPDATE pool SET slots = -1",
        "INSERT INTO process_beat (process_id) VALUES (4711)",
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


@pytest.mark.parametrize("which", [lambda engine: engine, reader], ids=["writing", "reading"])
def test_the_connection_that_was_used_last_is_used_next(
    engine: Engine, which: Callable[[Engine], Engine]
) -> None:
    used = which(engine)
    with used.connect() as one, used.connect():
        last = one.connection.dbapi_connection

    for _ in range(3):
        with used.connect() as conn:
            assert conn.connection.dbapi_connection is last
