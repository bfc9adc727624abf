"""What `headway doctor` finds of PUBLIC's rights and of the server's settings, and its remedies."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import ProgrammingError

from headway.db.access import migrate, public_rights
from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.doctor import rights, server
from headway.doctor.finding import DatabaseCheck, Examined, Finding
from headway.runtime.daemon.clock import SystemClock
from headway.testing.database.logins import bare_connection
from headway.testing.database.postgres import ThrowawayPostgres

FILLING = {
    "PUBLIC temporary tables": "CREATE TEMPORARY TABLE mine (id int)",
    "PUBLIC tables": "CREATE TABLE mine (id int)",
    "PUBLIC large objects": "SELECT lo_from_bytea(0, 'x')",
}
LARGE_OBJECTS = text("""
    SELECT proname FROM pg_proc
     WHERE (proname LIKE 'lo\\_%' OR proname IN ('loread', 'lowrite'))
       AND has_function_privilege('headway_readonly', oid, 'EXECUTE')
""")


@pytest.fixture
def url(postgres: ThrowawayPostgres) -> Iterator[str]:
    """The address of a migrated database with a name that is to be quoted."""
    name = f"headway 100% {token_hex(4)}"
    url = postgres.create_database(name)
    migrate.upgrade(url)
    yield url
    postgres.drop_database(name)


@pytest.fixture
def owner(url: str) -> Iterator[Engine]:
    engine = engines.connect(url)
    yield engine
    engine.dispose()


def rows(conn: Connection, *checks: DatabaseCheck) -> dict[str, Finding]:
    """The rows of these checks, by their names."""
    subject = Examined({}, Path(), SystemClock())
    return {row.check: row for check in checks for row in check(subject, conn)}


def follow(owner: Engine, remedy: str) -> None:
    """Execute what a row advises."""
    statement, _, _ = remedy.partition("; (as ")
    with owner.begin() as conn:
        conn.exec_driver_sql(statement.replace("%", "%%"))


@pytest.mark.regression
def test_each_remedy_takes_the_right_away_that_its_row_is_about(owner: Engine, url: str) -> None:
    with owner.begin() as conn:
        conn.exec_driver_sql("GRANT CREATE ON SCHEMA public TO PUBLIC")
    for check, statement in FILLING.items():
        with bare_connection(url, Login.WORKER) as worker:
            before = rows(worker, *rights.CHECKS)
            worker.execute(text(statement))
        assert not before[check].ok
        follow(owner, before[check].remedy)
        with bare_connection(url, Login.WORKER) as worker:
            assert rows(worker, *rights.CHECKS)[check].ok
            with pytest.raises(ProgrammingError, match="permission denied"):
                worker.execute(text(statement))

    with owner.begin() as conn:
        assert list(conn.scalars(LARGE_OBJECTS)) == []
        assert {row.remedy for row in rows(conn, *rights.CHECKS).values()} == {""}


@pytest.mark.regression
def test_in_a_database_of_a_launcher_public_has_none_of_these_rights(
    postgres: ThrowawayPostgres,
) -> None:
    """As `headway standalone` and `headway demo` make it; a second start changes nothing."""
    name = f"headway_own_{token_hex(4)}"
    url = postgres.create_database(name)
    program = "from headway.cli.launch.service_program import main; main()"
    command = [sys.executable, "-c", program, "db", "migrate"]
    for _ in range(2):
        subprocess.run(command, env={**os.environ, "HEADWAY_DATABASE_URL": url}, check=True)

    engine = engines.connect(url)
    with engine.connect() as conn:
        assert [right.what for right in public_rights.found(conn) if right.granted] == []
    engine.dispose()
    postgres.drop_database(name)


def with_default(owner: Engine, setting: str) -> None:
    with owner.begin() as conn:
        name = conn.scalar(text("SELECT quote_ident(current_database())"))
        conn.exec_driver_sql(f"ALTER DATABASE {name} SET {setting}".replace("%", "%%"))
    owner.dispose()


@pytest.mark.parametrize(
    ("name", "default"),
    [("jit", "on"), ("plan_cache_mode", "auto"), ("enable_seqscan", "on")],
)
def test_settings_of_plans_are_shown_as_they_are_in_effect(
    owner: Engine, url: str, name: str, default: str
) -> None:
    with_default(owner, f"{name} = {default}")

    with owner.connect() as conn:
        ours = rows(conn, server.planning)[f"server {name}"]
    assert ours.ok
    assert ours.found == f"{ours.wanted} (the server would have it {default})"

    bare = create_engine(url)
    with bare.connect() as conn:
        dropped = rows(conn, server.planning)[f"server {name}"]
    bare.dispose()
    assert (dropped.ok, dropped.found) == (False, default)
    assert "HEADWAY_DATABASE_POOLER=true" in dropped.remedy


def test_commits_that_do_not_wait_for_the_disk_are_not_ok(owner: Engine) -> None:
    with_default(owner, "synchronous_commit = off")
    with owner.connect() as conn:
        careless = rows(conn, server.durability)["server synchronous_commit"]
    assert (careless.ok, careless.found) == (False, "off")
    with_default(owner, "synchronous_commit = local")
    with owner.connect() as conn:
        assert rows(conn, server.durability)["server synchronous_commit"].ok

    with_default(owner, "synchronous_commit = off")
    follow(owner, careless.remedy)
    owner.dispose()
    with owner.connect() as conn:
        what_the_server_has = rows(conn, server.durability)["server synchronous_commit"]
    assert "ALTER DATABASE" in careless.remedy
    assert "ALTER DATABASE" not in what_the_server_has.remedy
