"""What a login of Headway cannot do by statements of its own, whatever its program does."""

from collections.abc import Iterator
from typing import Final

import pytest
from sqlalchemy import Column, Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from headway.db.grants_matrix import HIDDEN
from headway.db.logins import Login
from headway.db.schema import METADATA
from headway.testing.logins import logged_in

REFUSED: Final = "42501"

NOW: Final = "now()"


def given_by_the_database(column: Column[object]) -> bool:
    """Whether a new row gets this from a sequence, or from the database's clock."""
    default = column.server_default
    return column.identity is not None or str(getattr(default, "arg", "")) == NOW


def inserts(verb: str) -> Iterator[tuple[str, str]]:
    """Yield statements that give what the database gives, each with its column."""
    for table in METADATA.sorted_tables:
        for column in filter(given_by_the_database, table.columns):
            into = f"{table.name} ({column.name}) OVERRIDING SYSTEM VALUE"
            yield f"{table.name}.{column.name}", f"{verb} INSERT INTO {into} VALUES (NULL)"


def outcome(conn: Connection, statement: str) -> str:
    """Return the code of the refusal, or an empty text."""
    savepoint = conn.begin_nested()
    try:
        conn.execute(text(statement))
    except DBAPIError as error:
        return str(getattr(error.orig, "pgcode", None))
    finally:
        savepoint.rollback()
    return ""


@pytest.mark.regression
@pytest.mark.parametrize("login", Login)
def test_no_role_chooses_an_id_or_the_time_of_what_it_enters(
    engine: Engine, database_url: str, login: Login
) -> None:
    names = {name for name, _ in inserts("")}
    assert {"event.at", "event.id", "process.id", "process_beat.beat_at", "dag_run.id"} <= names
    with logged_in(database_url, login) as own, own.connect() as conn:
        allowed = [name for name, it in inserts("EXPLAIN") if outcome(conn, it) != REFUSED]

    assert allowed == []
    with engine.connect() as conn:  # none is refused for being wrong by itself
        assert {outcome(conn, it) for _, it in inserts("EXPLAIN")} == {""}


@pytest.mark.regression
@pytest.mark.parametrize("login", [Login.READONLY, Login.USER])
@pytest.mark.parametrize("table", HIDDEN)
def test_who_only_looks_sees_no_token_and_no_proof(
    database_url: str, table: str, login: Login
) -> None:
    assert {"task_attempt", "lease", "callback", "process"} <= HIDDEN.keys()
    seen = ", ".join(set(METADATA.tables[table].columns.keys()) - set(HIDDEN[table]))
    with logged_in(database_url, login) as own, own.connect() as conn:
        for column in HIDDEN[table]:
            assert outcome(conn, f"SELECT {column} FROM {table}") == REFUSED
            assert outcome(conn, f"SELECT 1 FROM {table} WHERE {column} IS NULL") == REFUSED
        assert outcome(conn, f"SELECT * FROM {table}") == REFUSED
        assert outcome(conn, f"SELECT {seen} FROM {table}") == ""


@pytest.mark.regression
@pytest.mark.parametrize("login", [Login.PARSER, Login.SCHEDULER, Login.WORKER])
def test_no_service_reads_the_hash_of_a_proof(database_url: str, login: Login) -> None:
    with logged_in(database_url, login) as own, own.connect() as conn:
        assert outcome(conn, "SELECT proof_hash FROM process") == REFUSED
