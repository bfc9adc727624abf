"""Hot statements on a real server: prepared once, forgotten in time, and never in the way."""

import secrets
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from headway.db.core import engine as engines
from headway.db.core import prepared
from headway.db.core.engine import is_transient, reader
from headway.db.core.prepared import FRESH, hot
from headway.testing.database.postgres import ThrowawayPostgres
from headway.testing.time.clock import FakeClock

DOUBLE = hot("SELECT 2 * CAST(:number AS int)")
MEMBERS = hot("SELECT unnest(CAST(:names AS text[]))")
ALL = hot("SELECT * FROM thing")
PREPARED = text("SELECT count(*) FROM pg_prepared_statements")
PLANS = text("SELECT custom_plans, generic_plans FROM pg_prepared_statements")

words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.fixture
def direct(postgres: ThrowawayPostgres) -> Iterator[Engine]:
    """An engine on a database of its own, without a pooler in whatever mode the tests run."""
    name = f"headway_direct_{secrets.token_hex(4)}"
    engine = engines.connect(postgres.create_database(name), name="test", pool_size=1, pooler=False)
    yield engine
    engine.dispose()
    postgres.drop_database(name)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(prepared, "_CLOCK", clock)
    return clock


def test_it_is_prepared_once_on_each_connection(direct: Engine) -> None:
    for number in range(8):
        with direct.begin() as conn:
            assert conn.scalar(DOUBLE, {"number": number}) == 2 * number
    with direct.begin() as conn:
        assert conn.scalar(PREPARED) == 1
    with reader(direct).connect() as conn:
        assert conn.scalar(PREPARED) == 0
        assert conn.scalar(DOUBLE, {"number": 2}) == 4
        assert conn.scalar(PREPARED) == 1


def test_its_first_plan_is_kept_whatever_the_parameters(direct: Engine) -> None:
    """Postgres itself would plan an array of unknown length anew in each execution."""
    with direct.begin() as conn:
        for length in range(8):
            conn.execute(MEMBERS, {"names": ["a"] * length})
        assert conn.execute(PLANS).one() == (0, 8)


def test_what_is_rolled_back_stays_prepared(direct: Engine) -> None:
    with direct.connect() as conn:
        conn.scalar(DOUBLE, {"number": 1})
        conn.rollback()
        assert conn.scalar(DOUBLE, {"number": 2}) == 4
        assert conn.scalar(PREPARED) == 1


def test_it_is_forgotten_in_time_so_that_it_is_planned_anew(
    direct: Engine, clock: FakeClock
) -> None:
    names = text("SELECT name FROM pg_prepared_statements")
    with direct.begin() as conn:
        conn.scalar(DOUBLE, {"number": 1})
        first = conn.scalar(names)
    clock.advance(FRESH)
    with direct.begin() as conn:
        conn.scalar(DOUBLE, {"number": 1})
        assert conn.scalar(names) == first
        clock.advance(0.1)
        conn.scalar(DOUBLE, {"number": 1})
        assert list(conn.scalars(names)) != [first]
        assert conn.scalar(PREPARED) == 1


def test_behind_a_pooler_nothing_is_prepared(database_url: str) -> None:
    engine = engines.connect(database_url, name="test", pool_size=1, pooler=True)
    for each in (engine, reader(engine)):
        with each.connect() as conn:
            assert conn.scalar(DOUBLE, {"number": 1}) == 2
            assert list(conn.scalars(MEMBERS, {"names": ["a"]})) == ["a"]
            assert conn.scalar(PREPARED) == 0
    engine.dispose()


def test_a_table_that_changes_costs_one_more_try(direct: Engine) -> None:
    with direct.begin() as conn:
        conn.execute(text("CREATE TABLE thing (a int)"))
        assert conn.execute(ALL).all() == []
    with direct.begin() as conn:
        conn.execute(text("ALTER TABLE thing ADD b int"))

    with pytest.raises(DBAPIError) as caught, direct.begin() as conn:
        conn.execute(ALL)
    assert is_transient(caught.value)

    with direct.begin() as conn:
        assert list(conn.execute(ALL).keys()) == ["a", "b"]


def test_where_a_prepared_statement_gets_lost_nothing_is_prepared_any_more(
    direct: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """As behind a pooler that nobody has told of."""
    with direct.begin() as conn:
        conn.scalar(DOUBLE, {"number": 1})
        conn.execute(text("DEALLOCATE ALL"))

    with pytest.raises(DBAPIError) as caught, direct.begin() as conn:
        conn.scalar(DOUBLE, {"number": 1})
    assert is_transient(caught.value)
    assert "HEADWAY_DATABASE_POOLER=true" in caplog.text

    with direct.begin() as conn:
        assert conn.scalar(DOUBLE, {"number": 1}) == 2
        assert conn.scalar(PREPARED) == 0


def test_a_fraction_is_never_rounded(direct: Engine) -> None:
    """The server takes the parameter for an integer: that is an error, and no other number."""
    wrong = hot("SELECT 2 * :factor")
    with direct.connect() as conn, pytest.raises(DBAPIError, match="invalid input syntax"):
        conn.scalar(wrong, {"factor": 0.4})

    exact = hot("SELECT 2 * CAST(:factor AS numeric)")
    with direct.connect() as conn:
        assert float(conn.scalar(exact, {"factor": 0.4})) == 0.8


def test_an_error_in_it_is_that_of_the_statement(direct: Engine) -> None:
    wrong = hot("SELECT 1 / CAST(:number AS int)")
    with direct.connect() as conn:
        assert conn.scalar(wrong, {"number": 1}) == 1
        with pytest.raises(DBAPIError) as caught:
            conn.scalar(wrong, {"number": 0})
    assert caught.value.orig.pgcode == "22012"  # type: ignore[union-attr]
    assert not is_transient(caught.value)


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(names=st.lists(words | st.just("NULL") | st.none()))
def test_the_server_reads_a_list_as_it_was(direct: Engine, names: list[str | None]) -> None:
    with direct.connect() as conn:
        assert list(conn.scalars(MEMBERS, {"names": names})) == names
