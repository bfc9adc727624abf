"""`headway db`: what it says of roles, and the passwords that it sets."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url
from typer.testing import CliRunner

from headway.cli.commands.installation.database import _login
from headway.cli.main import app
from headway.db.access import grants_page, migrate, roles
from headway.db.access.logins import Login
from headway.runtime.settings import configuration
from headway.testing.database import logins
from headway.testing.database.logins import bare_connection


@pytest.fixture(autouse=True)
def host_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> Iterator[None]:
    """Nothing from outside but the database of the test, as its owner."""
    for name in configuration.environment():
        if name.startswith("HEADWAY_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    monkeypatch.setenv("HEADWAY_DATABASE_URL", database_url)
    configuration.config_file.cache_clear()
    yield
    configuration.config_file.cache_clear()


def says(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def listed() -> dict[str, dict[str, str]]:
    return {row["role"]: row for row in json.loads(says("db", "roles", "-o", "json"))}


def test_roles_are_listed_with_what_they_are_for(database_url: str) -> None:
    for login in Login:
        logins.address(database_url, login)

    rows = listed()

    assert list(rows) == list(Login)
    assert {(row["may_log_in"], row["password"]) for row in rows.values()} == {("yes", "set")}
    assert rows["headway_worker"]["used_for"] == "headway worker"
    assert says("db", "roles").splitlines()[0].split("  ")[0] == "role"


def test_who_is_no_superuser_cannot_see_passwords(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_DATABASE_URL", logins.address(database_url, Login.USER))

    assert {(row["may_log_in"], row["password"]) for row in listed().values()} == {("yes", "?")}


def test_a_role_that_cannot_be_used_is_told() -> None:
    status = roles.RoleStatus(
        Login.PARSER, present=False, may_log_in=False, powerful=False, has_password=False
    )
    assert _login(status) == "no: absent, migrate as one who may create roles"
    barred = replace(status, present=True)
    assert _login(barred) == "no: ALTER ROLE headway_parser LOGIN"
    mighty = replace(barred, may_log_in=True, powerful=True)
    assert _login(mighty) == "yes, and it may do more than it should"


def test_migrate_sets_the_passwords_of_the_environment(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that all tests agree upon, as others may be connecting with it just now."""
    monkeypatch.setenv("HEADWAY_ROLES_PARSER_PASSWORD", logins.PASSWORD)
    monkeypatch.setenv("HEADWAY_ROLES_WORKER_PASSWORD", "")
    given: dict[Login, str] = {}
    set_passwords = roles.set_passwords

    def listen(conn: object, passwords: dict[Login, str]) -> None:
        given.update(passwords)
        set_passwords(conn, passwords)  # type: ignore[arg-type]

    monkeypatch.setattr(roles, "set_passwords", listen)

    assert says("db", "migrate") == f"The database has schema {migrate.head()}.\n"
    assert given == {Login.PARSER: logins.PASSWORD}
    with bare_connection(database_url, Login.PARSER) as conn:
        assert conn.exec_driver_sql("SELECT session_user").scalar() == "headway_parser"


def test_the_grants_are_printed() -> None:
    assert says("db", "grants") == grants_page.as_markdown()


def test_an_address_keeps_all_but_user_and_password(database_url: str) -> None:
    url = make_url(roles.address(f"{database_url}?sslmode=prefer", Login.WORKER, "p@:/%"))

    assert (url.username, url.password) == ("headway_worker", "p@:/%")
    before = make_url(f"{database_url}?sslmode=prefer")
    assert url == before.set(username=url.username, password=url.password)
