"""How the login roles come to be: on a server of its own, which has none before each test."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import psycopg2
import pytest
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url

from headway.db.access import grants, guards, migrate, roles
from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.embedded.postgres import PostgresServer
from headway.testing.database.interleaving import in_background, wait_until_blocked
from headway.testing.database.postgres import CARELESS, ThrowawayPostgres

DATABASES: Final = text("SELECT datname FROM pg_database WHERE datname LIKE 'of_%'")
ROLES: Final = text("SELECT rolname FROM pg_roles WHERE rolname ~ '^(headway_|tenant)'")


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThrowawayPostgres]:
    with PostgresServer(tmp_path_factory.mktemp("untouched"), settings=CARELESS) as server:
        yield ThrowawayPostgres(server.url)


@pytest.fixture
def server(untouched: ThrowawayPostgres) -> Iterator[ThrowawayPostgres]:
    """A server without databases and roles of Headway."""
    yield untouched
    with connected(untouched.url) as conn:
        for name in conn.scalars(DATABASES).all():
            untouched.drop_database(name)
        for login in conn.scalars(ROLES).all():
            conn.exec_driver_sql(f"DROP OWNED BY {login}")
            conn.exec_driver_sql(f"DROP ROLE {login}")


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as conn:
        yield conn
    engine.dispose()


@contextmanager
def engine_of(url: str) -> Iterator[Engine]:
    engine = engines.connect(url)
    yield engine
    engine.dispose()


def tenant(server: ThrowawayPostgres, name: str, power: str = "") -> str:
    """Return the address of an empty database, as a user that owns it and has that power."""
    url = server.create_database(f"of_{name}")
    with connected(server.url) as conn:
        conn.exec_driver_sql(f"CREATE ROLE {name} LOGIN PASSWORD 'secret' {power}")
        conn.exec_driver_sql(f"ALTER DATABASE of_{name} OWNER TO {name}")
    return make_url(url).set(username=name, password="secret").render_as_string(hide_password=False)


def role_statuses(url: str) -> Mapping[Login, roles.RoleStatus]:
    with engine_of(url) as engine, engine.connect() as conn:
        return {status.login: status for status in roles.statuses(conn)}


def log_in(url: str, login: Login, password: str) -> bool:
    address = make_url(url).set(drivername="postgresql", username=login, password=password)
    try:
        psycopg2.connect(address.render_as_string(hide_password=False)).close()
    except psycopg2.OperationalError as error:
        if "password authentication failed" not in str(error):
            raise
        return False
    return True


def test_an_upgrade_makes_the_roles_with_the_passwords_that_it_is_given(
    server: ThrowawayPostgres,
) -> None:
    url, password = server.create_database("of_new"), "it's 100% :secret"

    migrate.upgrade(url, {Login.WORKER: password})

    assert log_in(url, Login.WORKER, password)
    assert not log_in(url, Login.WORKER, "another")
    assert not log_in(url, Login.PARSER, password)
    found = role_statuses(url)
    assert all(
        status.present and status.may_log_in and not status.powerful for status in found.values()
    )
    assert [status.login for status in found.values() if status.has_password] == [Login.WORKER]


def test_a_password_is_changed_by_the_next_upgrade_and_kept_without_one(
    server: ThrowawayPostgres,
) -> None:
    url = server.create_database("of_new")

    for given in ({Login.USER: "first"}, {Login.USER: "second"}, {}, {Login.PARSER: "other"}):
        migrate.upgrade(url, given)

    assert log_in(url, Login.USER, "second")
    assert not log_in(url, Login.USER, "first")


def test_a_password_never_travels_in_the_open(server: ThrowawayPostgres) -> None:
    """What is sent may be logged, by the server or by whoever stands in between."""
    sent: list[str] = []

    def listen(_conn: object, _cursor: object, statement: str, parameters: object, *_: Any) -> None:
        sent.append(f"{statement} {parameters}")

    with engine_of(server.create_database("of_new")) as engine, engine.begin() as conn:
        roles.create(conn)
        event.listen(engine, "before_cursor_execute", listen)
        roles.set_passwords(conn, {Login.USER: "plain-to-see"})

    assert "ALTER ROLE headway_user LOGIN PASSWORD 'SCRAM-SHA-256$" in "".join(sent)
    assert "plain-to-see" not in "".join(sent)


def test_two_databases_that_are_migrated_at_once_make_the_roles_once(
    server: ThrowawayPostgres,
) -> None:
    one, two = server.create_database("of_one"), server.create_database("of_two")
    with engine_of(one) as first, engine_of(two) as second, first.connect() as conn:
        roles.create(conn)
        with in_background(lambda: migrate.upgrade(two)) as upgrade:
            wait_until_blocked(second)
            conn.commit()
            assert upgrade.result() == migrate.head()

        with second.connect() as there:
            assert grants.installed(there) == grants.expected()


def test_two_databases_that_are_migrated_at_once_set_the_passwords_in_turn(
    server: ThrowawayPostgres,
) -> None:
    one, two = server.create_database("of_one"), server.create_database("of_two")
    migrate.upgrade(one)
    with engine_of(one) as first, engine_of(two) as second, first.connect() as conn:
        roles.set_passwords(conn, {Login.USER: "first"})
        with in_background(lambda: migrate.upgrade(two, {Login.USER: "second"})) as upgrade:
            wait_until_blocked(second)
            conn.commit()
            assert upgrade.result() == migrate.head()

    assert log_in(two, Login.USER, "second")


def test_an_owner_who_may_not_make_roles_is_told_what_is_missing(
    server: ThrowawayPostgres, caplog: pytest.LogCaptureFixture
) -> None:
    url = tenant(server, "tenant")

    assert migrate.upgrade(url) == migrate.head()

    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "The database user tenant may not create roles" in record.message
    assert "CREATE ROLE headway_parser LOGIN; CREATE ROLE headway_readonly LOGIN;" in record.message
    with engine_of(url) as engine, engine.connect() as conn:
        assert guards.outdated(conn) == []
        assert not any(status.present for status in roles.statuses(conn))


def test_roles_that_an_administrator_made_get_their_grants(
    server: ThrowawayPostgres, caplog: pytest.LogCaptureFixture
) -> None:
    url = tenant(server, "tenant")
    with connected(server.url) as conn:
        for login in Login:
            conn.exec_driver_sql(f"CREATE ROLE {login} LOGIN PASSWORD 'of-the-administrator'")

    migrate.upgrade(url, {Login.USER: "another"})

    with engine_of(url) as engine, engine.connect() as conn:
        assert grants.installed(conn) == grants.expected()
        assert {status.has_password for status in roles.statuses(conn)} == {None}
    assert log_in(url, Login.USER, "of-the-administrator")
    told = [record.message for record in caplog.records]
    assert [message for message in told if "The password of the role headway_user" in message]
    assert "The settings of the role headway_api could not be set" in told[0]


def test_an_owner_who_may_make_roles_makes_them(
    server: ThrowawayPostgres, caplog: pytest.LogCaptureFixture
) -> None:
    url = tenant(server, "tenant", "CREATEROLE")

    migrate.upgrade(url, dict.fromkeys(Login, "secret"))

    assert caplog.records == []
    assert all(log_in(url, login, "secret") for login in Login)
    with engine_of(url) as engine, engine.connect() as conn:
        assert grants.installed(conn) == grants.expected()
