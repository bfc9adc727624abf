"""Behind a real PgBouncer in transaction mode."""

from collections.abc import Iterator
from contextlib import closing

import psycopg2
import pytest
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from headway.db.access import migrate, registration
from headway.db.core import engine as engines
from headway.db.core import identity
from headway.domain.errors import DatabaseError
from headway.runtime.daemon.bell import Bell
from headway.testing.data import seed
from headway.testing.database.pgbouncer import PgBouncer
from headway.testing.database.postgres import ThrowawayPostgres

SEEN = text("""
    SELECT pg_backend_pid() AS pid, current_setting('transaction_isolation') AS isolation,
           current_setting('lock_timeout') AS lock_timeout,
           current_setting('statement_timeout') AS statement_timeout,
           current_setting('idle_in_transaction_session_timeout') AS idle_timeout,
           current_setting('TimeZone') AS zone
""")
END_OTHERS = text("""
    SELECT pid FROM pg_stat_activity
     WHERE datname = current_database()
       AND CASE WHEN pid <> pg_backend_pid() THEN pg_terminate_backend(pid, 10000) END
""")
PROMISED = ("read committed", "5s", "30s", "10s", "UTC")


@pytest.fixture
def url(database_url: str, bouncer: PgBouncer) -> str:
    """The address of a fresh database through PgBouncer."""
    return bouncer.through(database_url)


@pytest.fixture
def pooled(url: str) -> Iterator[Engine]:
    engine = engines.connect(url, name="test", pooler=True)
    yield engine
    engine.dispose()


def use_several(engine: Engine) -> None:
    """Have PgBouncer open several connections to the server, which take turns from now on."""
    with engine.connect() as first, engine.connect() as second, engine.connect() as third:
        for conn in (first, second, third):
            conn.execute(text("SELECT 1"))


def test_every_transaction_keeps_the_promises_on_whichever_connection(pooled: Engine) -> None:
    use_several(pooled)
    servers = set()
    for _ in range(6):
        with pooled.begin() as conn:
            pid, *seen = conn.execute(SEEN).one()
        servers.add(pid)
        assert tuple(seen) == PROMISED

    assert len(servers) > 1


def test_nothing_is_left_behind_for_another_client(pooled: Engine, url: str) -> None:
    use_several(pooled)

    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with closing(psycopg2.connect(plain)) as connection, connection.cursor() as cursor:
        for _ in range(3):
            cursor.execute("SELECT current_setting('lock_timeout')")
            assert cursor.fetchone() == ("0",)
            connection.commit()


def test_isolation_of_the_account_is_overridden(pooled: Engine) -> None:
    with pooled.begin() as conn:
        name = conn.scalar(text("SELECT current_database()"))
        conn.execute(
            text(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
        )
    use_several(pooled)  # one of them is new, at least

    for _ in range(3):
        with pooled.begin() as conn:
            assert conn.execute(SEEN).one().isolation == "read committed"


def test_single_reads_and_transactions_may_alternate(pooled: Engine) -> None:
    reader = engines.reader(pooled)
    for _ in range(3):
        with reader.connect() as conn:
            assert conn.scalar(text("SELECT count(*) FROM pool")) == 1
        with pooled.begin() as conn:
            assert conn.execute(SEEN).one().lock_timeout == "5s"


def test_a_lock_is_waited_for_no_longer_than_promised(pooled: Engine) -> None:
    with pooled.connect() as holder, pooled.connect() as waiter:
        holder.execute(text("SELECT FROM pool FOR UPDATE"))
        waiter.execute(text("SET LOCAL lock_timeout = 1"))
        with pytest.raises(DBAPIError, match="lock timeout") as caught:
            waiter.execute(text("SELECT FROM pool FOR UPDATE"))

    assert engines.is_transient(caught.value)


def test_an_end_of_its_connection_to_the_server_passes(pooled: Engine, engine: Engine) -> None:
    with pooled.connect() as conn, engine.connect() as killer:
        pid = conn.scalar(text("SELECT pg_backend_pid()"))
        killer.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": pid})
        with pytest.raises(DBAPIError) as caught:
            conn.execute(text("SELECT 1"))

    assert engines.is_transient(caught.value)
    with pooled.begin() as conn:
        assert conn.scalar(text("SELECT 1")) == 1


def test_an_end_of_that_connection_while_it_proves_itself_passes(
    pooled: Engine, engine: Engine
) -> None:
    me = seed.register(engine, "worker")
    identity.introduce(pooled, me)
    killed: list[int] = []

    def kill(_conn: Connection, _cursor: object, statement: str, *_rest: object) -> None:
        if "set_config('headway.process'" in statement and not killed:
            with engine.connect() as killer:
                killed.extend(killer.scalars(END_OTHERS))

    event.listen(pooled, "before_cursor_execute", kill)
    with pytest.raises(DBAPIError) as caught, pooled.begin() as conn:
        conn.scalar(identity.ME)

    assert killed
    assert engines.is_transient(caught.value)
    with pooled.begin() as conn:
        assert conn.scalar(identity.ME) == me.id


def test_a_service_that_does_not_know_of_it_ends_and_says_what_to_set(
    url: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_DATABASE_POOLER", "false")

    refused = pytest.raises(DatabaseError, match="HEADWAY_DATABASE_POOLER=true")
    with refused, registration.registered("scheduler", url, Bell()):
        pass

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM process")) == 0


def test_a_database_is_migrated_through_it(
    postgres: ThrowawayPostgres, bouncer: PgBouncer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_DATABASE_POOLER", "true")
    url = bouncer.through(postgres.create_database("migrated_through_pooler"))
    try:
        assert migrate.upgrade(url) == migrate.head()
    finally:
        postgres.drop_database("migrated_through_pooler")
