"""Engines by which nothing can be written, with a limit for each statement."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from headway.db.core import read_only


@pytest.fixture
def reads(database_url: str) -> Iterator[Engine]:
    engine = read_only.connect(database_url, name="test", pool_size=2, statement_timeout=0.2)
    yield engine
    engine.dispose()


def test_what_is_there_is_read(reads: Engine) -> None:
    with reads.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM pool")) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO dag_bundle (name) VALUES ('new')",
        "UPDATE pool SET slots = 0",
        "DELETE FROM pool",
        "TRUNCATE event",
        "CREATE TABLE mine (id int)",
        "SELECT nextval(pg_get_serial_sequence('event', 'id'))",
    ],
)
def test_nothing_can_be_written(reads: Engine, statement: str) -> None:
    with reads.connect() as conn, pytest.raises(DBAPIError) as refused:
        conn.execute(text(statement))

    assert getattr(refused.value.orig, "pgcode", None) == "25006"


def test_a_statement_that_takes_too_long_is_given_up(reads: Engine) -> None:
    with reads.connect() as conn, pytest.raises(DBAPIError) as given_up:
        conn.execute(text("SELECT pg_sleep(10)"))

    assert getattr(given_up.value.orig, "pgcode", None) == "57014"
