"""The grants against the statements of each part of Headway: all that they need, and no more.

Postgres judges privileges when it explains a statement, which executes nothing.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import pytest
from sqlalchemy import Connection, Engine, TextClause, text
from sqlalchemy.exc import DBAPIError

from headway.db.access import grants
from headway.db.access.grants import Privilege
from headway.db.access.grants_matrix import TABLES, UNREAD
from headway.db.access.logins import Login
from headway.db.core.identity import VIEW
from headway.testing.database.sql_in_use import statements

PARTS: Final[Mapping[Login, Collection[str]]] = {
    Login.PARSER: ["headway_parser"],
    Login.SCHEDULER: ["headway_scheduler"],
    Login.WORKER: ["headway_worker"],
    Login.USER: ["headway.cli", "headway.actions"],
    Login.API: ["headway.cli", "headway.actions", "headway_api"],
}

OWNERS: Final = [("headway.db.access.migrate", "upgrade"), ("headway.db.access.roles", "statuses")]
"""What asks for other privileges than those on tables, and checks by itself that it has them."""

REFUSED: Final = "42501"
API_MODULES: Final = frozenset(
    {"accounts", "idempotency", "in_force", "limits", "links", "sessions", "tokens"}
)
"""The modules of `headway.db.accounts`, whose statements only the API executes."""

each_part = pytest.mark.parametrize("login", PARTS)


def statements_of(login: Login) -> dict[str, TextClause]:
    """The statements that this part of Headway may execute and Postgres can explain."""
    return {
        name: statement
        for name, statement in statements(PARTS[login], OWNERS).items()
        if (login is Login.API or name.partition(".")[0] not in API_MODULES)
        and re.match(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE|MERGE)\b", statement.text)
    }


@contextmanager
def acting(conn: Connection, login: Login) -> Iterator[None]:
    conn.exec_driver_sql(f"SET LOCAL ROLE {login}")
    yield
    conn.exec_driver_sql("RESET ROLE")


def refusals(conn: Connection, found: Mapping[str, TextClause]) -> Iterator[str]:
    """Yield what is refused to whom the connection acts for, with the reason."""
    for name, statement in found.items():
        explained = text(f"EXPLAIN {statement.text}")
        attempt = conn.begin_nested()
        try:
            conn.execute(explained, dict.fromkeys(explained.compile().params))
        except DBAPIError as error:
            if getattr(error.orig, "pgcode", None) != REFUSED:
                raise
            yield f"{name}: {str(error.orig).splitlines()[0]}"
        finally:
            attempt.rollback()


def is_needed(conn: Connection, found: Mapping[str, TextClause], privilege: Privilege) -> bool:
    """Whether anything is refused once this privilege is taken away."""
    login, table, verb, column = privilege
    concerned = {
        name: statement
        for name, statement in found.items()
        if re.search(rf"\b{table}\b", statement.text)
    }
    taken_away = conn.begin_nested()
    try:
        columns = f" ({column})" if column else ""
        conn.exec_driver_sql(f"REVOKE {verb}{columns} ON {table} FROM {login}")
        with acting(conn, Login(login)):
            return next(refusals(conn, concerned), None) is not None
    finally:
        taken_away.rollback()


@each_part
def test_a_part_of_headway_may_do_what_its_statements_do(engine: Engine, login: Login) -> None:
    with engine.connect() as conn, acting(conn, login):
        assert list(refusals(conn, statements_of(login))) == []


@each_part
def test_nothing_is_granted_that_no_statement_needs(engine: Engine, login: Login) -> None:
    """But that users may look at everything, as readers may, save what is encrypted.

    So may every role at the processes, save what is hidden of them.
    """
    found = statements_of(login)
    granted = {
        privilege
        for privilege in grants.expected([login])
        if privilege[2] != "SELECT"
        or (
            not (login in (Login.USER, Login.API) and privilege[1] not in UNREAD)
            and not (privilege[1] == "process" and privilege[3])
        )
    }
    with engine.connect() as conn:
        idle = [privilege for privilege in granted if not is_needed(conn, found, privilege)]

    assert idle == []


def test_readers_and_users_look_at_everything() -> None:
    """But not at what only the API checks."""
    for login, hidden in ((Login.READONLY, UNREAD), (Login.USER, UNREAD), (Login.API, set())):
        reading = {table for _, table, verb, _ in grants.expected([login]) if verb == "SELECT"}
        assert reading - {VIEW} == set(TABLES) - hidden

    assert {verb for *_, verb, _ in grants.expected([Login.READONLY])} == {"SELECT"}


def test_the_statements_of_each_part_are_found() -> None:
    assert {"attempts.CLAIM", "attempts.REPORT", "leases.RENEW"} <= set(statements_of(Login.WORKER))
    assert "secret_requests.ASK" in statements_of(Login.WORKER)
    assert {"dags.LOCK_DUE", "tasks.QUEUE", "processes.LOCK_DEAD"} <= set(
        statements_of(Login.SCHEDULER)
    )
    assert {"versions.ADD", "processes.REGISTER"} <= set(statements_of(Login.PARSER))
    assert {"run_views.OF_DAG", "pools.SET", "runs.CREATE"} <= set(statements_of(Login.USER))
    assert not {"attempts.CLAIM", "versions.ADD"} & set(statements_of(Login.USER))
    assert {"accounts.CREATE", "sessions.FIND", "tokens.FIND"} <= set(statements_of(Login.API))
    assert "accounts.CREATE" not in statements_of(Login.USER)
