"""`headway doctor` on a real database, as any role, and without one."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from headway.db.access import public_rights
from headway.db.access.logins import Login
from headway.runtime.settings import configuration
from headway.testing.database import logins
from headway.testing.services.forks import run_command
from headway.testing.time.clock import until


@pytest.fixture(autouse=True)
def host_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str) -> None:
    """Nothing from outside but the database of the test, as its owner."""
    for name in configuration.environment():
        if name.startswith("HEADWAY_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    monkeypatch.setenv("HEADWAY_DATABASE_URL", database_url)
    tmp_path.chmod(0o700)


def doctor() -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit status and rows by check; each row has every field."""
    done = asked("-o", "json")
    rows = json.loads(done.stdout)
    for row in rows:
        assert set(row) == {"check", "ok", "found", "wanted", "remedy"}
        assert row["ok"] is (row["remedy"] == "")
    return done.returncode, {row["check"]: row for row in rows}


def asked(*options: str) -> "subprocess.CompletedProcess[str]":
    """Ask in a process of its own: the doctor forks, which that of other tests may not survive."""
    return run_command(["doctor", *options], dict(os.environ))


@pytest.mark.regression
def test_a_database_that_is_away_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DATABASE_URL", "postgresql://me:secret@127.0.0.1:1/headway")

    status, rows = doctor()

    assert status == 1
    assert not rows["database"]["ok"]
    assert "refused" in rows["database"]["found"]
    assert "secret" not in str(rows)
    assert "schema" not in rows
    assert rows["settings"]["ok"]


def test_an_address_that_is_missing_or_malformed_is_one_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HEADWAY_DATABASE_URL")
    _, missing = doctor()
    monkeypatch.setenv("HEADWAY_DATABASE_URL", "postgresql://host:port/name")
    _, malformed = doctor()

    assert "HEADWAY_DATABASE_URL" in missing["database"]["remedy"]
    assert "cannot be read" in malformed["database"]["found"]


@pytest.mark.parametrize("login", [None, *Login])
def test_any_role_may_ask(
    database_url: str, monkeypatch: pytest.MonkeyPatch, login: Login | None
) -> None:
    public_rights.revoke(database_url)
    for each in Login:
        logins.address(database_url, each)
    if login is not None:
        monkeypatch.setenv("HEADWAY_DATABASE_URL", logins.address(database_url, login))

    _, rows = doctor()

    # Servers of tests do not sync, and share their connections with other tests.
    careless = {name for name in rows if name.startswith("server")}
    assert [row for name, row in rows.items() if not row["ok"] and name not in careless] == []
    assert {"database", "schema", "roles", "clock", "server version", "server jit"} <= set(rows)
    assert {"PUBLIC temporary tables", "PUBLIC tables", "PUBLIC large objects"} <= set(rows)


def test_a_schema_that_is_behind_is_not_ok(engine: Engine) -> None:
    with engine.begin() as conn:
        conn.execute(text("UPDATE alembic_version SET version_num = '0001'"))

    status, rows = doctor()

    assert (status, rows["schema"]["ok"]) == (1, False)
    assert rows["schema"]["remedy"].startswith("headway db migrate")


def test_a_setting_that_makes_no_sense_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_WORKER_SLOTS", "many")

    status, rows = doctor()

    assert status == 1
    assert "HEADWAY_WORKER_SLOTS" in rows["settings"]["found"]


def test_a_person_reads_what_to_do_only_where_something_is_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADWAY_WORKER_SLOTS", "many")

    lines = asked().stdout.splitlines()

    assert any(line.startswith("WRONG settings: HEADWAY_WORKER_SLOTS") for line in lines)
    assert any(line.startswith("ok    schema: ") for line in lines)
    wrong = sum(line.startswith("WRONG") for line in lines)
    assert sum(line.startswith("      remedy: ") for line in lines) == wrong


def test_the_fork_server_that_parses_elsewhere_is_asked_for_its_sandbox(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "forker"
    monkeypatch.setenv("HEADWAY_PARSER_FORKER", str(place))
    command = [sys.executable, "-m", "headway.cli", "forker", "--socket", str(place)]

    _, without = doctor()
    with subprocess.Popen(command) as forker:
        until(lambda: listens(place), "a fork server")
        _, with_it = doctor()
        forker.terminate()

    assert not without["sandbox"]["ok"]
    assert str(place) in without["sandbox"]["found"]
    assert "headway forker" in without["sandbox"]["remedy"]
    assert with_it["sandbox"]["ok"]


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
def test_a_home_of_another_account_is_a_row(tmp_path: Path) -> None:
    """As nobody, with the environment of root."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    tmp_path.chmod(0o711)
    program = (
        "import os, sys\n"
        "from headway.doctor import disk, settings, spark, state\n"
        "from headway.doctor.finding import Examined\n"
        "from headway.runtime.daemon.clock import SystemClock\n"
        "from pathlib import Path\n"
        "os.setuid(65534)\n"
        "here = Examined(dict(os.environ), Path(os.environ['HEADWAY_HOME']), SystemClock())\n"
        "for check in (*state.CHECKS, *disk.CHECKS):\n"
        "    for found in check(here):\n"
        "        print(found.check, found.ok, found.found)\n"
    )
    given = {**os.environ, "HEADWAY_HOME": str(home)}

    done = subprocess.run(
        [sys.executable, "-c", program], env=given, capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    assert "secret-keys False this account may not look at it" in done.stdout
    assert "disk of home False" in done.stdout
