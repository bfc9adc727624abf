"""A database that cannot be used: every command says in one message what to do."""

import secrets
import socket
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url

from headway.db.access import migrate
from headway.testing.database.postgres import ThrowawayPostgres
from headway.testing.processes import modes
from headway.testing.services.machine import Machine

pytestmark = [pytest.mark.services, pytest.mark.usefixtures("dags")]

COMMANDS = [("dags", "list"), ("db", "check"), ("parser",), ("scheduler",), ("worker",)]
SET_IT = "set HEADWAY_DATABASE_URL"
_DIFFERENT = {("dags", "list"), ("worker",)}
"""A command that ends by itself, and a service."""


def of_these(*commands: tuple[str, ...]) -> pytest.MarkDecorator:
    """Try each of these commands; `make test` has only those that differ."""
    marked = [
        pytest.param(command, marks=() if command in _DIFFERENT else pytest.mark.long)
        for command in commands
    ]
    return pytest.mark.parametrize("command", marked, ids=" ".join)


each_command = of_these(*COMMANDS)


def refusal(machine: Machine, command: tuple[str, ...], url: str) -> str:
    return machine.refusal(*command, given={"HEADWAY_DATABASE_URL": url})


@pytest.fixture
def empty_database(postgres: ThrowawayPostgres) -> Iterator[str]:
    name = f"headway_empty_{secrets.token_hex(4)}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@each_command
def test_no_database_is_known(machine: Machine, command: tuple[str, ...]) -> None:
    said = machine.refusal(*command)

    assert said.startswith("No database is known. Set HEADWAY_DATABASE_URL to postgresql://")
    assert f"(looked for in {machine.home})" in said


@of_these(*COMMANDS[:2])  # services wait for it
def test_no_server_answers(machine: Machine, command: tuple[str, ...]) -> None:
    with socket.socket() as nobody:  # bound and not listening: the port stays closed
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        said = refusal(machine, command, f"postgresql://me:secret@127.0.0.1:{port}/headway")

    assert "does not answer" in said
    assert "Connection refused" in said
    assert SET_IT in said
    assert "secret" not in said


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        pytest.param("postgresql://me@localhost:port/x", marks=pytest.mark.long),
        pytest.param("postgresql//me@localhost/x", marks=pytest.mark.long),
    ],
)
def test_the_address_is_malformed(machine: Machine, url: str) -> None:
    assert refusal(machine, ("db", "check"), url) == (
        "The database URL cannot be read; write postgresql://user:password@host:port/name."
    )


@pytest.mark.parametrize("scheme", ["mysql", pytest.param("sqlite", marks=pytest.mark.long)])
def test_it_is_not_postgres(machine: Machine, scheme: str) -> None:
    said = refusal(machine, ("db", "check"), f"{scheme}://me:secret@localhost/headway")

    assert said == f"Headway needs Postgres; the database URL names {scheme!r}."


def test_the_password_is_wrong(machine: Machine, database_url: str) -> None:
    address = make_url(database_url).set(password="a-wrong-one")

    said = refusal(machine, ("db", "check"), address.render_as_string(hide_password=False))

    whose = "SASL" if modes.pooled() else "password"
    assert f"{whose} authentication failed" in said
    assert SET_IT in said
    assert "a-wrong-one" not in said


def test_there_is_no_database_of_that_name(machine: Machine, database_url: str) -> None:
    address = make_url(database_url).set(database="headway_nowhere")

    said = refusal(machine, ("db", "migrate"), address.render_as_string(hide_password=False))

    assert 'database "headway_nowhere" does not exist' in said
    assert SET_IT in said


@each_command
def test_it_is_not_migrated(
    machine: Machine, empty_database: str, command: tuple[str, ...]
) -> None:
    assert refusal(machine, command, empty_database) == (
        "The database has no Headway tables yet. Run `headway db migrate`."
    )


def test_migrating_is_what_helps(machine: Machine, empty_database: str) -> None:
    given = {"HEADWAY_DATABASE_URL": empty_database}

    migrated = machine.run("db", "migrate", given=given)
    listed = machine.run("dags", "list", given=given)

    assert (migrated.returncode, migrated.stderr) == (0, "")
    assert migrate.head() in migrated.stdout
    assert (listed.returncode, listed.stdout.splitlines()[-1]) == (0, "(none)")


@of_these(*COMMANDS, ("db", "migrate"))
def test_its_schema_is_newer(
    machine: Machine, engine: Engine, database_url: str, command: tuple[str, ...]
) -> None:
    with engine.begin() as conn:
        conn.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    said = refusal(machine, command, database_url)

    assert "has schema 9999, which is newer than this Headway" in said
    assert "install the Headway that migrated it, or a newer one" in said
