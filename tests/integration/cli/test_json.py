"""`-o json` of each command: one JSON document on stdout, with all that the table shows."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url
from typer.main import get_command
from typer.testing import CliRunner, Result

from headway.cli.main import app
from headway.cli.screen.output import Format
from headway.db.access.logins import Login
from headway.domain.errors import HeadwayError
from headway.testing.data import seed
from headway.testing.data.cheap_hashes import hash_at_little_cost
from headway.testing.database import logins

RUN = f"scheduled__{seed.START.isoformat()}"
BACKFILL = "backfill create"
COMMANDS = {
    "accounts create": "ann --role admin",
    "accounts delete": "ben --yes",
    "accounts disable": "ben --yes",
    "accounts link": "ben --at https://headway.example.org/",
    "accounts list": "",
    "accounts set": "ben --role operator",
    "backfill cancel": "1 --yes",
    BACKFILL: "etl --from 2024-01-02 --to 2024-01-03 --no-wait",
    "backfill list": "",
    "backfill pause": "1",
    "backfill resume": "1",
    "backfill show": "1 --dates",
    "bundles forget": "main --yes",
    "bundles list": "",
    "callbacks list": "",
    "connections get": "dwh",
    "connections list": "",
    "dags delete": "etl --yes --anyway",
    "dags diff": "etl 1 2",
    "dags list": "",
    "dags next": "etl",
    "dags pause": "etl",
    "dags reparse": "etl",
    "dags show": "etl",
    "dags trigger": "etl",
    "dags unpause": "etl",
    "dags versions": "etl",
    "db check": "",
    "db clean": "--older-than 30d --yes",
    "db roles": "",
    "deadlines list": "",
    "doctor": "",
    "events": "",
    "explain": f"etl {RUN} work",
    "health": "forker --socket /nowhere",
    "import-check": "examples/flights/dags",
    "metrics": "",
    "notifications list": "",
    "pools delete": "spare",
    "pools list": "",
    "providers list": "",
    "pools set": "spare 3",
    "runs cancel": f"etl {RUN} --yes",
    "runs clear": f"etl {RUN} --yes",
    "runs delete": f"etl {RUN} --yes",
    "runs list": "",
    "runs mark": f"etl {RUN} --as failed --yes",
    "runs show": f"etl {RUN}",
    "settings": "",
    "simulate": "",
    "spark cost": "",
    "status": "",
    "tasks cancel": f"etl {RUN} work --yes",
    "tasks clear": f"etl {RUN} work --yes",
    "tasks list": f"etl {RUN}",
    "tasks mark": f"etl {RUN} work --as failed --yes",
    "timetable preview": "@daily",
    "tokens create": "ben ci",
    "tokens list": "",
    "tokens revoke": "1",
    "variables get": "region",
    "variables list": "",
    "version": "",
    "worker drain": "1",
    "worker list": "",
}
BEFORE = {
    **{f"backfill {name}": [BACKFILL] for name in ("cancel", "pause", "resume", "show")},
    "dags delete": ["runs cancel", "runs delete"],
    "pools delete": ["pools set"],
    "runs delete": ["runs cancel"],
    "tokens revoke": ["tokens create"],
}
"""What has to be done before a command."""

FINDS_FAULTS = ("doctor", "health", "status")
"""Commands that end with status 1 where something is not well."""

OBJECTS = ("import-check",)
"""Commands whose document is one object."""

FILE = text("INSERT INTO dag_file (bundle, relative_path) VALUES ('main', 'etl.py')")
PASSWORD = "correct horse battery"
BAD = "\x1b]0;owned\x07"


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    """The commands have the environment of a scheduler's pod: its login, and the one of users."""
    hash_at_little_cost(monkeypatch)
    user = make_url(logins.address(database_url, Login.USER))
    monkeypatch.setenv("HEADWAY_DATABASE_API_URL", logins.address(database_url, Login.API))
    monkeypatch.setenv("HEADWAY_DATABASE_URL", logins.address(database_url, Login.SCHEDULER))
    monkeypatch.setenv("HEADWAY_DATABASE_USER_URL", user._replace(password=None).render_as_string())
    monkeypatch.setenv("HEADWAY_DATABASE_USER_PASSWORD", str(user.password))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def leaves(command: Any, *path: str) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", {})
    for name, inner in below.items():
        yield from leaves(inner, *path, name)
    if not below:
        yield " ".join(path), command


def test_every_command_with_json_is_tried() -> None:
    with_json = {
        path
        for path, command in leaves(get_command(app))
        for parameter in command.params
        if isinstance(parameter.default, Format)
    }

    assert with_json == COMMANDS.keys()


@pytest.mark.regression
@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_one_document(
    command: str, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed.store(engine, seed.dag())
    seed.start_run(engine, replace(seed.dag(), description="other"))
    assert seed.register(engine, "worker").id == 1
    monkeypatch.setenv("HEADWAY_SECRETS_KEYS", run("secrets", "new-key").stdout.strip())
    run("connections", "add", "dwh", "--conn-type", "http")
    CliRunner().invoke(app, ["variables", "set", "region", "--from", "-"], input="eu")
    CliRunner().invoke(app, ["accounts", "create", "ben"], input=PASSWORD)
    with engine.begin() as conn:
        conn.execute(FILE)
    for before in BEFORE.get(command, ()):
        assert run(*before.split(), *COMMANDS[before].split()).exit_code == 0

    arguments = [*command.split(), *COMMANDS[command].split(), "-o", "json"]
    result = CliRunner().invoke(app, arguments, input=PASSWORD)

    assert result.exit_code == 0 or command in FINDS_FAULTS, result.output
    assert isinstance(json.loads(result.stdout), dict if command in OBJECTS else list)


@pytest.mark.regression
def test_a_backfill_is_told_as_json(engine: Engine) -> None:
    seed.store(engine, seed.dag(), paused=True)

    result = run("backfill", "create", *COMMANDS["backfill create"].split(), "-o", "json")

    [row] = json.loads(result.stdout)
    assert (row["id"], row["dag_id"], row["created"], row["version"]) == (1, "etl", 2, 1)
    assert "is paused" in row["held"]
    assert "Backfill 1 of etl: 2 runs with version 1." in result.stderr


def fail(engine: Engine, path: str, error: str) -> None:
    """Have a file with that import error."""
    failed = text("INSERT INTO import_error (bundle, relative_path, error) VALUES ('main', :p, :e)")
    with engine.begin() as conn:
        conn.execute(failed, {"p": path, "e": error})


@pytest.mark.regression
def test_import_errors_are_in_the_list_of_dags(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    fail(engine, "broken.py", "SyntaxError: invalid syntax")
    fail(engine, "etl.py", "ValueError: no")

    rows = json.loads(run("dags", "list", "-o", "json").stdout)

    told = [(row["dag_id"], row["relative_path"], row["import_error"]) for row in rows]
    assert told == [
        ("etl", "etl.py", "ValueError: no"),
        (None, "broken.py", "SyntaxError: invalid syntax"),
    ]
    assert len({tuple(row) for row in rows}) == 1


@pytest.mark.regression
def test_a_table_says_what_is_wrong_with_a_file(engine: Engine) -> None:
    error = '  File "x.py", line 4\n    def (:\n        ^\nSyntaxError: invalid syntax'
    fail(engine, "x.py", error)

    assert 'SyntaxError: invalid syntax (File "x.py", line 4)' in run("dags", "list").stdout


@pytest.mark.regression
def test_what_others_have_written_commands_no_terminal(engine: Engine) -> None:
    spec = replace(seed.dag(), description=f"Flights{BAD}\nof a year")
    number = seed.start_run(engine, spec)
    fail(engine, f"{BAD}.py", f"ValueError: {BAD}")
    wild = {"bad": BAD, "id": number}
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET schedule_error = :bad, relative_path = :bad"), wild)
        conn.execute(text("UPDATE dag_run SET run_id = :bad WHERE id = :id"), wild)
        conn.execute(text("UPDATE event SET actor = :bad, details = '{}'"), wild)

    said = run("dags", "show", "etl").stdout
    assert "Flights\\x1b]0;owned\\x07\nof a year" in said
    for command in ("dags list", "dags show etl", "runs list", "events", "dags show etll"):
        shown = run(*command.split())
        assert "\x1b]" not in shown.output
    assert "\x1b]" not in run("runs", "show", "etl", BAD).output
    assert "\x1b]" not in run("explain", "etl", BAD, "work").output


@pytest.mark.regression
def test_cancelling_a_backfill_asks(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    run("backfill", "create", *COMMANDS["backfill create"].split())

    refused = run("backfill", "cancel", "1")
    assert "2 runs not begun deleted" in str(refused.exception)
    assert "add --yes" in str(refused.exception)
    assert run("backfill", "cancel", "1", "--yes").exit_code == 0


@pytest.mark.regression
def test_clearing_a_run_says_what_keeps_it_from_running(engine: Engine) -> None:
    number = seed.start_run(engine, seed.dag())
    end = text("UPDATE dag_run SET state = 'failed', ended_at = now() WHERE id = :id")
    with engine.begin() as conn:
        conn.execute(end, {"id": number})
    clear = ("runs", "clear", "etl", RUN, "--yes")

    assert "starts until" not in run(*clear).output
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET paused = true"))
    assert "etl is paused: nothing of it starts until `headway dags unpause etl`." in (
        run(*clear).output
    )
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET active = false"))
    said = run(*clear).output
    assert "No file defines etl any more (it was in etl.py): nothing of it starts until" in said


@pytest.mark.regression
@pytest.mark.parametrize(
    "command",
    [
        "dags trigger etl --run-id",
        "events etl",
        "callbacks list etl",
        "spark cost etl",
        "runs show etl",
        "runs clear etl",
        "runs cancel etl",
        "runs delete etl",
        "tasks list etl",
    ],
)
@pytest.mark.parametrize("run_id", ["", " "])
def test_an_empty_run_id_is_refused(command: str, run_id: str, engine: Engine) -> None:
    seed.store(engine, seed.dag())

    result = run(*command.split(), run_id)

    assert isinstance(result.exception, HeadwayError), result.output
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM dag_run")) == 0
