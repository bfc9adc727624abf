"""A database that a test has used is as a new one, or is used no more."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from sqlalchemy import Engine, create_engine, text
from tests.databases import TestDatabases

from headway.testing.data import seed
from headway.testing.database.postgres import ThrowawayPostgres

POOLS = text("SELECT name, slots FROM pool ORDER BY name")
LARGE = """
    INSERT INTO pool (name, slots) SELECT repeat('x', 200) || n, 1 FROM generate_series(1, 20000) n
"""
NEXT_VERSION = text("SELECT nextval(pg_get_serial_sequence('dag_version', 'id'))")

Use = Callable[[Engine], object]


class Databases:
    """Databases of tests, and those who are still connected to one."""

    def __init__(self, own: TestDatabases, open_: ExitStack) -> None:
        self._own, self._open = own, open_

    def again(self, use: Use) -> Engine | None:
        """The database that a test has used so, if a later test is given it."""
        name = self._own.take()
        engine = self._connect(name)
        use(engine)
        engine.dispose()
        self._own.give_back(name)
        self._own.give_back(self._own.take())  # for another test, between the two
        return self._connect(name) if self._own.take() == name else None

    def _connect(self, name: str) -> Engine:
        engine = create_engine(self._own.server.url_of(name))
        self._open.callback(engine.dispose)
        return engine


@pytest.fixture
def reused(postgres: ThrowawayPostgres, template: str) -> Iterator[Databases]:
    own = TestDatabases(postgres, template)
    with ExitStack() as open_:
        open_.callback(own.drop)
        yield Databases(own, open_)


def store(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    seed.make_pool(engine, "small", 1)
    with engine.begin() as conn:
        conn.exec_driver_sql("UPDATE pool SET slots = 3")


def statement(sql: str) -> Use:
    def execute(engine: Engine) -> None:
        with engine.begin() as conn:
            conn.exec_driver_sql(sql.format(name=engine.url.database))

    return execute


def test_it_has_the_rows_of_a_new_one(reused: Databases, engine: Engine) -> None:
    again = reused.again(store)

    assert again is not None
    with again.connect() as conn, engine.connect() as new:
        assert conn.execute(POOLS).all() == new.execute(POOLS).all() != []
        assert conn.scalar(text("SELECT count(*) FROM dag")) == 0


def test_its_numbers_begin_anew(reused: Databases) -> None:
    again = reused.again(store)

    assert again is not None
    with again.connect() as conn:
        assert conn.scalar(NEXT_VERSION) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE pool ADD COLUMN more text",
        "ALTER TABLE dag DISABLE TRIGGER USER",
        "CREATE TABLE more ()",
        "DROP TABLE event",
        "CREATE POLICY more ON pool USING (true)",
        "GRANT SELECT ON pool TO PUBLIC",
        "GRANT CREATE ON SCHEMA public TO PUBLIC",
        "GRANT CREATE ON DATABASE {name} TO PUBLIC",
        "REVOKE EXECUTE ON FUNCTION pg_sleep FROM PUBLIC",
        "ALTER DATABASE {name} SET lock_timeout = 1",
        "ANALYZE pool",
        LARGE,
    ],
)
def test_one_of_which_more_than_rows_was_changed_is_used_no_more(
    reused: Databases, sql: str
) -> None:
    assert reused.again(statement(sql)) is None


def test_one_to_which_somebody_is_still_connected_is_used_no_more(reused: Databases) -> None:
    with ExitStack() as open_:
        stays = reused.again(
            lambda engine: open_.enter_context(create_engine(engine.url).connect())
        )

    assert stays is None
