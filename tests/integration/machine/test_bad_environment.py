"""Folders and ports that cannot be had, and what else is in the way of a start."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from headway.testing.services.machine import Machine

pytestmark = pytest.mark.services

SETPRIV = shutil.which("setpriv")
_DIFFERENT = {("standalone", "file"), ("demo", "file/home"), ("worker", "/proc/headway")}
"""Each command once, and each kind of a home that cannot be made once."""

as_root = pytest.mark.skipif(
    os.geteuid() != 0 or SETPRIV is None, reason="only root can make a folder another user's"
)


def test_the_folder_of_dags_is_missing(machine: Machine) -> None:
    said = machine.refusal("standalone", "--dags", "nowhere")

    assert said == (
        f"There is no DAGs folder {machine.root}/nowhere; create it, or name another with --dags."
    )


@pytest.mark.long
def test_the_folder_of_dags_is_empty(machine: Machine, dags: Path) -> None:
    with machine.standalone(dags) as (standalone, _engine):
        as_table = machine.run("dags", "list")
        as_json = machine.run("dags", "list", "--output", "json")

        assert (as_table.returncode, as_table.stdout.splitlines()[-1]) == (0, "(none)")
        assert (as_json.returncode, json.loads(as_json.stdout)) == (0, [])
        assert standalone.end(signal.SIGINT) == 0
        assert standalone.complained() == ""


def test_the_port_is_in_use(machine: Machine, dags: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        said = machine.refusal("standalone", "--port", str(port))

    assert said.startswith(f"Postgres cannot have port {port} on 127.0.0.1:")
    assert "name another port, or name none" in said
    assert machine.processes() == {}


@pytest.mark.long
def test_a_port_that_was_remembered_is_given_up_when_it_is_taken(
    machine: Machine, dags: Path
) -> None:
    with machine.standalone(dags) as (_standalone, engine):
        port = engine.url.port
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port or 0))
        other.listen()
        with machine.standalone(dags) as (_standalone, engine):
            assert engine.url.port != port
            assert machine.run("db", "check").returncode == 0


@pytest.mark.parametrize(
    ("command", "home"),
    [
        pytest.param(*case, marks=() if case in _DIFFERENT else pytest.mark.long)
        for case in product(
            ("standalone", "demo", "worker"), ("file", "file/home", "/proc/headway")
        )
    ],
)
def test_the_home_cannot_be_made(machine: Machine, dags: Path, command: str, home: str) -> None:
    (machine.root / "file").touch()
    folder = machine.root / home
    given = {"HEADWAY_HOME": str(folder), "HEADWAY_DATABASE_URL": "postgresql://me@127.0.0.1:9/x"}

    said = machine.refusal(command, given=given)

    assert said.startswith(f"No state can be kept in {folder}")
    assert "Set HEADWAY_HOME to a folder that this account may write to" in said


@as_root
@pytest.mark.parametrize(
    "command",
    [
        "standalone",
        *(pytest.param(each, marks=pytest.mark.long) for each in ("demo", "worker")),
        "dags",
    ],
)
@pytest.mark.parametrize("mode", [0o700, pytest.param(0o755, marks=pytest.mark.long)])
def test_the_home_is_another_users(machine: Machine, dags: Path, command: str, mode: int) -> None:
    """Root may do anything, so it gives up what lets it pass by the modes of files."""
    machine.home.mkdir(mode=mode)
    shutil.chown(machine.home, "nobody")
    given = {"HEADWAY_DATABASE_URL": "postgresql://me@127.0.0.1:9/x"}
    arguments = ["dags", "list"] if command == "dags" else [command]

    result = subprocess.run(
        [
            *(SETPRIV or "", "--bounding-set=-dac_override,-dac_read_search"),
            *(sys.executable, "-m", "headway.cli", *arguments),
        ],
        env={**machine.environment, **given},
        cwd=machine.root,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == (2 if mode == 0o700 or command != "dags" else 6)
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr
    assert list(machine.home.iterdir()) == []
    if command != "dags":
        assert "HEADWAY_HOME" in result.stderr


@pytest.mark.long
def test_the_home_is_in_use(machine: Machine, dags: Path) -> None:
    with machine.standalone(dags) as (standalone, _engine):
        said = machine.refusal("standalone")

        assert said.startswith(f"The database in {machine.home}/postgres is in use: a Postgres")
        assert "name another directory" in said
        assert machine.run("db", "check").returncode == 0
        assert standalone.end(signal.SIGTERM) == 0
        assert standalone.complained() == ""


@pytest.mark.long
def test_a_second_demo_leaves_the_first_alone(machine: Machine) -> None:
    with machine.running("demo") as first:
        first.until(lambda: "Backfilling" in first.printed(), "the services up")
        output = machine.home / "demo" / "services"
        said = machine.refusal("demo")

        assert said.startswith(f"The database in {machine.home}/demo/postgres is in use: a Post")
        assert output.is_dir()
        assert first.process.poll() is None
        assert first.end(signal.SIGINT) == 130
        assert first.complained() == ""


def test_the_demo_erases_nothing_that_it_has_not_made(machine: Machine) -> None:
    mine = machine.home / "demo" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")

    said = machine.refusal("demo")

    assert said.startswith(f"{machine.home}/demo holds 'mine.txt', which no demo has made.")
    assert mine.read_text() == "precious"
