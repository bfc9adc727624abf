"""What the command says to a person who asks for help, or gets a command wrong."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headway import __version__
from headway.cli.main import app, main

pytestmark = pytest.mark.usefixtures("no_settings")

READING = [
    "dags list",
    "dags show",
    "dags next",
    "timetable preview",
    "dags versions",
    "deadlines list",
    "notifications list",
    "dags diff",
    "runs list",
    "runs show",
    "tasks list",
    "backfill list",
    "backfill show",
    "pools list",
    "bundles list",
    "events",
    "explain",
    "simulate",
    "status",
]

CHANGING = [
    "runs clear",
    "runs mark",
    "runs cancel",
    "runs delete",
    "dags delete",
    "bundles forget",
    "tasks clear",
    "tasks mark",
    "tasks cancel",
]


def commands(command: object, *path: str) -> Iterator[tuple[str, ...]]:
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, *path, name)


ALL = list(commands(typer.main.get_command(app)))


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_says_what_it_does(path: tuple[str, ...]) -> None:
    status, output = run(*path, "--help")

    assert status == 0
    usage, _, said = output.partition("\n")
    assert usage.split()[:1] == ["Usage:"]
    assert said.split("Options:")[0].split("Arguments:")[0].strip()


def test_the_commands_that_there_are() -> None:
    assert {path[0] for path in ALL if path} >= {
        *("demo", "standalone", "parser", "scheduler", "worker", "version"),
        *("db", "dags", "runs", "tasks", "backfill", "pools", "events"),
    }


@pytest.mark.parametrize("command", READING)
def test_every_reading_command_can_speak_json(command: str) -> None:
    _, output = run(*command.split(), "--help")

    assert "-o, --output <table|json>" in output


@pytest.mark.parametrize("command", CHANGING)
def test_every_changing_command_takes_a_reason_and_may_be_told_not_to_ask(command: str) -> None:
    _, output = run(*command.split(), "--help")

    assert "--reason <str>" in output
    assert "-y, --yes" in output


@pytest.mark.parametrize(
    "path",
    [path for path in ALL if len(path) < 2 and path not in {("events",), ("explain",)}],
    ids=" ".join,
)
def test_a_command_that_nobody_knows(path: tuple[str, ...]) -> None:
    """Commands that take none have no use for another word either; two take a name."""
    needed = ["--socket", "s", "--for", "parser"] if path == ("forker",) else []
    status, output = run(*path, *needed, "frobnicate")

    assert status == 2
    assert "frobnicate" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("dags show", "Missing argument"),
        ("runs list --state lost", "Invalid value for '--state'"),
        ("runs list --limit 0", "Invalid value for '--limit'"),
        ("dags list --output yaml", "Invalid value for '--output'"),
        ("backfill create d --from 2013-01-01 --to b --rollup 0", "Invalid value"),
        ("backfill create d --from 2013-01-01 --to b --order sideways", "Invalid value"),
        ("backfill create d --from a --to b --max-active-runs 0", "Invalid value"),
        ("backfill create d --from a --to b --max-active-runs 99999999999", "Invalid value"),
        ("backfill create d --from a --to b --rollup 99999999999", "Invalid value"),
        ("backfill show 99999999999999999999", "Invalid value"),
        ("pools set p many", "Invalid value for 'slots'"),
        ("explain d r", "Missing argument 'task_id'"),
        ("explain d r t --map-index -1", "Invalid value for '--map-index'"),
        ("simulate --pool p", "'p' is not like name=4."),
        ("simulate --parallelism many", "Invalid value for '--parallelism'"),
        ("runs mark d r", "Missing option '--as'"),
        ("runs mark d r --as skipped", "Invalid value for '--as'"),
        ("tasks clear d r", "Missing argument 'TASK'"),
        ("tasks clear d r t --map-index -1", "Invalid value for '--map-index'"),
        ("tasks mark d r t --as none", "Invalid value for '--as'"),
        ("events --limit 0", "Invalid value for '--limit'"),
        ("standalone --schedulers 0", "Invalid value for '--schedulers'"),
        ("standalone --port 70000", "Invalid value for '--port'"),
    ],
)
def test_what_is_wrong_with_arguments_is_said(arguments: str, message: str) -> None:
    status, output = run(*arguments.split())

    assert status == 2
    assert message in output


def test_the_version() -> None:
    assert run("version") == (0, f"{__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("dags list", 6, "Error: No database is known. Set HEADWAY_DATABASE_URL to postgresql://"),
        ("standalone --dags nowhere", 2, "Error: There is no DAGs folder "),
    ],
)
def test_an_error_is_one_message_and_its_exit_status(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: str,
    status: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["headway", *arguments.split()])

    with pytest.raises(SystemExit) as ended:
        main()

    said = capsys.readouterr()
    assert ended.value.code == status
    assert said.out == ""
    assert said.err.startswith(message)
    assert len(said.err.splitlines()) == 1
