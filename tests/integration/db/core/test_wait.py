"""`headway db wait`, as an init container runs it, before and after the migration."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from headway.cli.commands.installation.database_wait import wait
from headway.db.access import migrate
from headway.db.core import engine as engines
from headway.domain.errors import DatabaseError, NewerSchemaError
from headway.runtime.daemon.bell import Bell
from headway.testing.database.relay import relay
from headway.testing.time.clock import ExpiringClock, until

NEWER = text("UPDATE alembic_version SET version_num = '9999'")
OLDER = text("UPDATE alembic_version SET version_num = '0001'")
DROP = text("DROP ROLE IF EXISTS headway_late")
MAKE = text("CREATE ROLE headway_late LOGIN PASSWORD 'late' IN ROLE headway_worker")

Waiting = subprocess.Popen[str]


@contextmanager
def waiting(url: str, log: Path, *options: str) -> Iterator[Waiting]:
    """The command, which waits; it is killed with the context if it still runs then."""
    command = [sys.executable, "-m", "headway.cli", "db", "wait", *options]
    with log.open("w") as complaints:
        process = subprocess.Popen(
            command,
            env={"PATH": os.environ["PATH"], "HEADWAY_DATABASE_URL": url},
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def execute(url: str, *statements: object) -> None:
    engine = engines.connect(url, name="test", pool_size=1)
    try:
        with engine.begin() as conn:
            for each in statements:
                conn.execute(each)  # type: ignore[call-overload]
    finally:
        engine.dispose()


def test_a_migrated_database_is_not_waited_for(database_url: str) -> None:
    assert wait(database_url, 60, Bell()) == migrate.head()


def test_it_waits_for_the_server_and_for_the_migration(empty_url: str, tmp_path: Path) -> None:
    with relay(empty_url) as way:
        port = way.port
    url = make_url(empty_url).set(host="127.0.0.1", port=port)
    log = tmp_path / "log"

    with waiting(url.render_as_string(hide_password=False), log) as process:
        until(lambda: "Connection refused" in log.read_text(), "a wait for the server")
        with relay(empty_url, port):
            until(lambda: "no Headway tables yet" in log.read_text(), "a wait for the migration")
            migrate.upgrade(empty_url)
            said, _ = process.communicate(timeout=60)

    assert process.returncode == 0, log.read_text()
    assert said == f"The database answers and has schema {migrate.head()}.\n"
    lines = log.read_text().splitlines()
    assert [("action=wait" in line) for line in lines] == [True, True], lines


def test_after_the_timeout_it_says_what_to_do(empty_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with waiting(empty_url, log, "--timeout", "5") as process:
        process.communicate(timeout=60)

    assert process.returncode == 6
    assert log.read_text().splitlines()[-1] == (
        "Error: The database is not ready after 5 s. "
        "The database has no Headway tables yet. Run `headway db migrate`."
    )


def test_a_schema_of_an_earlier_release_is_waited_for(database_url: str) -> None:
    execute(database_url, OLDER)
    bell = Bell()

    with pytest.raises(DatabaseError, match=r"not ready after 600 s\. .* has schema 0001, this"):
        wait(database_url, 600, bell, ExpiringClock(bell.stopped, 600))


def test_a_newer_schema_is_not_waited_for(database_url: str) -> None:
    """This release will not get along with it; the pods of the next one replace those of this."""
    execute(database_url, NEWER)

    with pytest.raises(NewerSchemaError, match="has schema 9999, which is newer"):
        wait(database_url, 60, Bell())


def test_a_login_that_the_migration_has_yet_to_make_is_waited_for(
    database_url: str, tmp_path: Path
) -> None:
    execute(database_url, DROP)
    url = make_url(database_url).set(username="headway_late", password="late")
    log = tmp_path / "log"
    try:
        with waiting(url.render_as_string(hide_password=False), log) as process:
            until(lambda: "headway_late" in log.read_text(), "a wait for the login")
            execute(database_url, MAKE)
            process.communicate(timeout=60)
        assert process.returncode == 0, log.read_text()
    finally:
        execute(database_url, DROP)
