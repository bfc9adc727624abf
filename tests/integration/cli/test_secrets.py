"""`headway connections`, `variables` and `secrets`: what they take, show, hide and refuse."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text
from typer.testing import CliRunner

from headway.cli.local.dag_test import run_dag
from headway.cli.main import app
from headway.cli.screen.errors import message
from headway.domain.errors import HeadwayError
from headway.testing.data import seed

CANARY = "canary-8f1e-0c5d"


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch, database_url: str, tmp_path: Path) -> None:
    """The commands reach the database of the test, and have a home with a key."""
    monkeypatch.setattr("headway.cli.input.session.database_url", lambda: database_url)
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path / "home"))
    for name in ("KEYS", "KEYS_FILE", "FOLDER"):
        monkeypatch.delenv(f"HEADWAY_SECRETS_{name}", raising=False)
    (tmp_path / "home").mkdir()
    do("secrets", "new-key", "--id", "first", "--add")


def say(*arguments: str, given: str | None = None) -> tuple[int, str, str]:
    """Run a command; return its status, all that it has printed, and its error."""
    result = CliRunner().invoke(app, list(arguments), input=given)
    error = result.exception
    told = message(error) if isinstance(error, HeadwayError) else str(error or "")
    return result.exit_code, result.output, told


def do(*arguments: str, given: str | None = None) -> str:
    """Run a command that succeeds; return what it has printed."""
    status, said, error = say(*arguments, given=given)
    assert status == 0, (said, error)
    return said


def refuse(*arguments: str, given: str | None = None) -> str:
    """Run a command that must not succeed; return why it did not, which shows no secret."""
    status, said, error = say(*arguments, given=given)
    assert status != 0
    assert CANARY not in said + error
    return error if error and "SystemExit" not in error else said


def rows(*arguments: str) -> Any:
    return json.loads(do(*arguments, "-o", "json"))


def test_a_connection_is_added_shown_and_listed(tmp_path: Path) -> None:
    do(
        "connections",
        "add",
        "db",
        "--from",
        "-",
        given=f"postgres://me:{CANARY}@h:5/s?token={CANARY}\n",
    )
    (tmp_path / "extra.json").write_text(json.dumps({"nested": {"token": CANARY}}))
    by_fields = ("--conn-type", "my-db", "--host", "h", "--port", "5", "--login", "me")
    extra = ("--extra", str(tmp_path / "extra.json"), "--description", "by hand")
    do("connections", "add", "fields", *by_fields, *extra, "--password", given=f"{CANARY}\n")
    do("connections", "add", "uri", "--uri", "spark://master:7077")

    for format_ in ("table", "json"):
        assert CANARY not in do("connections", "list", "-o", format_)
        assert CANARY not in do("connections", "get", "db", "-o", format_)
    [db, fields, uri] = rows("connections", "list")
    assert (db["type"], db["key_id"], db["dags"]) == ("postgres", "first", [])
    assert (fields["type"], fields["description"]) == ("my_db", "by hand")
    assert uri["name"] == "uri"
    [hidden] = rows("connections", "get", "fields")
    assert hidden == {
        "name": "fields", "conn_type": "my_db", "host": "h", "login": "me", "password": "***",
        "port": 5, "schema": None, "extra": {"nested": "***"},
    }  # fmt: skip
    [shown] = rows("connections", "get", "fields", "--show-secrets")
    assert (shown["password"], shown["extra"]) == (CANARY, {"nested": {"token": CANARY}})


def test_a_variable_is_set_shown_and_listed(tmp_path: Path) -> None:
    (tmp_path / "value").write_text(f"{CANARY}\nof two lines\n")
    do("variables", "set", "file", "--from", str(tmp_path / "value"))
    do("variables", "set", "typed", given=f"{CANARY}\n")
    do("variables", "set", "region", "eu", "--plain")

    assert CANARY not in do("variables", "list")
    assert [row["type"] for row in rows("variables", "list")] == ["secret", "plain", "secret"]
    assert rows("variables", "get", "typed") == [{"name": "typed", "plain": False, "value": "***"}]
    assert rows("variables", "get", "region")[0]["value"] == "eu"
    [shown] = rows("variables", "get", "file", "--show-secrets")
    assert shown["value"] == f"{CANARY}\nof two lines"


def test_what_is_exported_can_be_imported(tmp_path: Path) -> None:
    do("connections", "add", "a", "--from", "-", given=f"t://me:{CANARY}@h")
    do("connections", "add", "b", "--uri", "t://?__extra__=%7B%22n%22%3A+%5B1%5D%7D")
    do("variables", "set", "v", "--from", "-", given=CANARY)
    files = [str(tmp_path / name) for name in ("connections.json", "variables.json")]
    do("connections", "export", files[0], "--show-secrets")
    do("variables", "export", files[1], "--show-secrets")

    assert {Path(file).stat().st_mode & 0o777 for file in files} == {0o600}
    assert "is there already" in refuse("connections", "export", files[0], "--show-secrets")
    for command in ("connections", "variables"):
        assert "add --show-secrets" in refuse(command, "export", "-")
    before = do("connections", "export", "-", "--show-secrets")
    for name in ("a", "b"):
        do("connections", "delete", name, "--yes")
    do("variables", "delete", "v", "--yes")
    do("connections", "import", files[0])
    do("variables", "import", files[1])
    assert "Add `--replace`" in refuse("connections", "import", files[0])
    do("connections", "import", files[0], "--replace")

    assert do("connections", "export", "-", "--show-secrets") == before
    assert rows("variables", "get", "v", "--show-secrets")[0]["value"] == CANARY


def test_what_airflow_exports_is_imported_without_descriptions() -> None:
    shop = {"conn_type": "http", "description": "ours", "host": "h", "port": None, "extra": "{}"}
    region = {"value": "eu", "description": "where we are"}

    said = do("connections", "import", "-", given=json.dumps({"shop": shop}))
    assert "1 connections are stored." in said
    do("variables", "import", "-", given=json.dumps({"region": region, "n": 5}))

    assert rows("connections", "get", "shop")[0]["host"] == "h"
    assert rows("variables", "get", "region", "--show-secrets")[0]["value"] == "eu"
    assert rows("variables", "get", "n", "--show-secrets")[0]["value"] == "5"


def test_an_import_stores_all_or_nothing() -> None:
    both = json.dumps({"good": "t://h", "bad": CANARY})

    assert "Connection 'bad': this is no URI" in refuse("connections", "import", "-", given=both)
    assert rows("connections", "list") == []


def test_grants_name_dags_or_every_dag() -> None:
    do("variables", "grant", "v", "etl", "other")
    assert "every DAG" in do("connections", "grant", "c", "--all-dags")

    assert rows("variables", "list")[0]["dags"] == ["etl", "other"]
    assert rows("connections", "list")[0]["dags"] == ["*"]
    do("variables", "revoke", "v", "etl")
    assert rows("variables", "list")[0]["dags"] == ["other"]
    assert "is not granted to DAG 'etl'" in refuse("variables", "revoke", "v", "etl")
    assert "Name the DAGs" in refuse("variables", "grant", "v")
    assert "Name the DAGs" in refuse("variables", "grant", "v", "etl", "--all-dags")
    assert "The DAG id '*'" in refuse("variables", "grant", "v", "*")


def test_a_grant_may_be_for_the_files_of_a_bundle() -> None:
    said = do("variables", "grant", "v", "etl", "--bundle", "dags", "--bundle", "more")
    assert "is granted to etl, the files of bundle dags, the files of bundle more." in said
    do("connections", "grant", "c", "--all-dags", "--bundle", "dags")

    [listed] = rows("variables", "list")
    assert (listed["dags"], listed["bundles"]) == (["etl"], ["dags", "more"])
    [listed] = rows("connections", "list")
    assert (listed["dags"], listed["bundles"]) == (["*"], ["dags"])
    do("variables", "revoke", "v", "--bundle", "dags")
    assert rows("variables", "list")[0]["bundles"] == ["more"]
    refused = refuse("variables", "revoke", "v", "--bundle", "dags")
    assert "is not granted to the files of bundle 'dags'" in refused
    assert "The DAG id 'bundle:dags'" in refuse("variables", "grant", "v", "bundle:dags")
    assert "The bundle id 'a:b'" in refuse("variables", "grant", "v", "--bundle", "a:b")


@pytest.mark.parametrize(
    ("command", "given", "message"),
    [
        ("connections add c", None, "Give --from, or --uri, or the fields"),
        (f"connections add c --uri t://{CANARY} --host h", None, "Give --from, or --uri"),
        ("connections add c --host h", None, "it has no conn_type"),
        (f"connections add c --uri {CANARY}", None, "this is no URI"),
        ("connections add c --from -", f'{{"password": "{CANARY}"}}', "it has no conn_type"),
        ("connections add c --from /nowhere", None, "/nowhere cannot be read: No such file"),
        ("connections add c --conn-type t --extra -", f"[{CANARY}]", "holds no JSON object"),
        ("connections add a/b --uri t://h", None, "The connection id 'a/b'"),
        ("connections get absent", None, "There is no connection 'absent'"),
        ("connections delete absent --yes", None, "There is no connection 'absent'"),
        ("connections delete absent", None, "add --yes"),
        ("connections import -", CANARY, "holds no JSON object"),
        ("connections import -", f'{{"c": ["{CANARY}"]}}', "it must be a URI or an object"),
        (f"variables set v {CANARY}", None, "add --plain if it is no secret"),
        ("variables set v --from - --plain x", None, "add --plain"),
        ("variables set v", f"{CANARY}\0", "NUL character"),
        ("variables set v --from -", CANARY * 20_000, "has more than 262,144 bytes"),
        ("secrets new-key --id a:b", None, "The id of a key has"),
        ("secrets new-key --id first --add", None, "There is a key 'first' in"),
    ],
)
def test_what_makes_no_sense_is_refused(command: str, given: str | None, message: str) -> None:
    assert message in refuse(*command.split(), given=given)


def test_without_a_key_what_needs_one_says_so(tmp_path: Path) -> None:
    do("variables", "set", "v", "--from", "-", given=CANARY)
    (tmp_path / "home" / "secret-keys").unlink()

    for command in ("variables get v", "variables set w --from -", "secrets rotate"):
        assert "There is no key" in refuse(*command.split(), given=CANARY)
    do("variables", "list")
    do("variables", "grant", "v", "etl")
    do("variables", "delete", "v", "--yes")


def test_another_key_opens_nothing(tmp_path: Path) -> None:
    do("variables", "set", "v", "--from", "-", given=CANARY)
    (tmp_path / "home" / "secret-keys").unlink()
    do("secrets", "new-key", "--id", "other", "--add")

    for command in ("variables get v --show-secrets", "secrets rotate"):
        assert "encrypted with the key 'first', which is not among" in refuse(*command.split())


def test_rotation_leaves_the_first_key_in_use_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        do("variables", "set", name, "--from", "-", given=CANARY)
    do("secrets", "new-key", "--id", "second", "--add")
    keys = tmp_path / "home" / "secret-keys"
    assert [line.partition(":")[0] for line in keys.read_text().splitlines()] == ["second", "first"]

    assert "3 were encrypted anew; all have the key second." in do(
        "secrets", "rotate", "--batch", "2"
    )
    assert "0 were" in do("secrets", "rotate")

    assert {row["key_id"] for row in rows("variables", "list")} == {"second"}
    keys.write_text(keys.read_text().splitlines()[0])
    assert rows("variables", "get", "a", "--show-secrets")[0]["value"] == CANARY
    monkeypatch.setenv("HEADWAY_SECRETS_KEYS", do("secrets", "new-key").strip())
    assert "not in a file" in refuse("secrets", "new-key", "--add")


def test_a_short_secret_is_warned_of() -> None:
    assert "not masked in logs" in do("variables", "set", "v", "--from", "-", given="abc")
    assert "not masked" not in do("variables", "set", "v", "abc", "--plain")


def test_the_journal_tells_of_everything_and_shows_nothing(engine: Engine) -> None:
    do("connections", "add", "c", "--from", "-", given=f"t://me:{CANARY}@h")
    do("connections", "get", "c", "--show-secrets")
    do("variables", "set", "v", "--from", "-", given=CANARY)
    do("variables", "grant", "v", "etl")
    do("variables", "delete", "v", "--yes")
    do("secrets", "new-key", "--add")
    do("secrets", "rotate")

    with engine.connect() as conn:
        events = conn.execute(text("SELECT action, CAST(details AS text) FROM event ORDER BY id"))
        found = [tuple(row) for row in events]
    assert [action for action, _ in found] == [
        "connection.set", "connection.show", "variable.set", "variable.grant", "variable.delete",
        "secrets.rotate",
    ]  # fmt: skip
    assert CANARY not in str(found)


def test_a_dag_is_tested_with_what_there_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reads.py"
    file.write_text(
        "from headway.sdk import DAG, BaseHook, Variable, task\n"
        "with DAG('reads'):\n"
        "    @task\n"
        "    def read(text):\n"
        "        print('found', BaseHook.get_connection('c').host, Variable.get('v'), text)\n"
        "    read('{{ var.value.stored }}')\n"
    )
    (tmp_path / "mounted" / "variables").mkdir(parents=True)
    (tmp_path / "mounted" / "variables" / "v").write_text("mounted\n")
    monkeypatch.setenv("HEADWAY_SECRETS_FOLDER", str(tmp_path / "mounted"))
    monkeypatch.setenv("HEADWAY_CONN_C", "t://environment")
    do("variables", "set", "stored", "stored", "--plain")
    do("connections", "add", "c", "--uri", "t://stored")

    assert run_dag(file, "reads", "2013-01-01", {}, seed.START) == 0

    assert "found environment mounted stored" in capsys.readouterr().out
