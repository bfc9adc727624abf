"""The commands that show what a DAG was, and how a run's graph stands."""

import json
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, text
from typer.testing import CliRunner

from headway.cli.main import app
from headway.cli.screen import terminal
from headway.cli.screen.errors import message
from headway.db.parsing import stored_code, versions
from headway.db.parsing.versions import NewVersion
from headway.domain.dag.spec import DagSpec, MapInput
from headway.domain.errors import HeadwayError
from headway.serialization import codec
from headway.serialization.manifest import content_hash, manifest_hash
from headway.testing.data import seed
from headway.testing.data.forced import force

RUN = f"scheduled__{seed.START.isoformat()}"
OLD = seed.dag(seed.task("a"), replace(seed.task("b", "a"), retries=1))
NEW = seed.dag(seed.task("a"), replace(seed.task("b", "a"), retries=2), seed.task("c", "b"))


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    """The commands reach the database of the test."""
    monkeypatch.setattr("headway.cli.input.session.database_url", lambda: database_url)


def say(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def data(*arguments: str) -> Any:
    return json.loads(say(*arguments, "-o", "json"))


def fails(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code != 0
    assert isinstance(result.exception, HeadwayError)
    return message(result.exception)


def put(engine: Engine, spec: DagSpec, commit: str | None = None, **files: bytes) -> int:
    """Put a version with this code in force: files by their names without `.py`."""
    seed.store(engine, spec)
    contents = {f"{name}.py": content for name, content in files.items()}
    manifest = {path: content_hash(content) for path, content in contents.items()}
    key, encoded = manifest_hash(manifest), codec.encode(spec)
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET version_id = NULL"))
        conn.execute(text("DELETE FROM dag_version WHERE manifest_hash = :it"), {"it": NO_CODE})
        by_hash = {content_hash(content): content for content in contents.values()}
        stored_code.add_code(conn, {key: manifest}, by_hash)
        fingerprint = codec.fingerprint(encoded, key)
        new = NewVersion(spec, encoded, fingerprint, key, commit)
        version = versions.add(conn, [new])[spec.dag_id]
        conn.execute(text("UPDATE dag SET version_id = :id"), {"id": version})
    return version


NO_CODE = manifest_hash({})
OLD_BYTES, NEW_BYTES = b"\0binary", b"\0other"


def three(engine: Engine) -> None:
    put(engine, OLD, etl=b"old\n", util=OLD_BYTES)
    first = put(engine, NEW, "c0ffee" * 6, etl=b"old\n", util=OLD_BYTES)
    seed.create_runs(engine, first, [0, 1])
    put(engine, NEW, etl=b"new\n", util=NEW_BYTES, more=b"x\n")


def test_the_versions_of_a_dag(engine: Engine) -> None:
    three(engine)

    shown = data("dags", "versions", "etl")

    names = ("number", "in_force", "commit", "tasks", "runs", "changed")
    assert [tuple(row[name] for name in names) for row in shown] == [
        (3, True, None, 3, 0, "code"),
        (2, False, "c0ffee" * 6, 3, 2, "structure"),
        (1, False, None, 2, 0, "first"),
    ]
    table = say("dags", "versions", "etl")
    assert "c0ffeec0ffee " in table
    assert "Did you mean etl" in fails("dags", "versions", "elt")


def test_a_difference_of_structure(engine: Engine) -> None:
    three(engine)

    assert say("dags", "diff", "etl", "1", "2").splitlines() == [
        "+ task c",
        "~ task b",
        "    retries: 1 -> 2",
        "+ edge b -> c",
    ]
    assert say("dags", "diff", "etl", "1", "2", "--code") == (
        "No difference in the code between versions 1 and 2 of etl.\n"
    )
    assert say("dags", "diff", "etl", "2", "2") == (
        "No difference between versions 2 and 2 of etl.\n"
    )


def test_a_difference_of_code(engine: Engine) -> None:
    three(engine)

    assert say("dags", "diff", "etl", "2").splitlines() == [
        "--- a/etl.py",
        "+++ b/etl.py",
        "@@ -1 +1 @@",
        "-old",
        "+new",
        "--- a/more.py",
        "+++ b/more.py",
        "@@ -0,0 +1 @@",
        "+x",
        "changed util.py (not text)",
        "- sha256 " + content_hash(OLD_BYTES),
        "+ sha256 " + content_hash(NEW_BYTES),
    ]
    assert say("dags", "diff", "etl", "2", "3", "--structure").startswith("No difference in the s")
    assert "no version 9; it has 3, 2, 1" in fails("dags", "diff", "etl", "1", "9")


def test_a_difference_as_data(engine: Engine) -> None:
    three(engine)

    [found] = data("dags", "diff", "etl", "1", "3")

    assert found["versions"] == [1, 3]
    assert found["structure"]["added"] == ["c"]
    assert found["structure"]["changed"] == {"b": {"retries": [1, 2]}}
    assert [(file["path"], file["change"]) for file in found["code"]] == [
        ("etl.py", "changed"),
        ("more.py", "added"),
        ("util.py", "changed"),
    ]


def test_the_code_as_it_was(engine: Engine) -> None:
    three(engine)

    assert say("dags", "code", "etl", "--version", "1", "--file", "etl.py") == "old\n"
    assert say("dags", "code", "etl").splitlines() == [
        "==> etl.py (version 3) <==",
        "new",
        "==> more.py (version 3) <==",
        "x",
        "==> util.py (version 3) <==",
        "\\x00other",
    ]
    assert "no file 'x.py'; it has etl.py, util.py" in (
        fails("dags", "code", "etl", "--version", "1", "--file", "x.py")
    )


def test_code_does_not_command_the_terminal(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Raw bytes go to files and pipes alone, when they are of one file."""
    evil = b"# \x1b]0;owned\x07\n"
    put(engine, seed.dag(), etl=evil)

    assert CliRunner().invoke(app, ["dags", "code", "etl", "--file", "etl.py"]).stdout_bytes == evil
    assert "\x1b]" not in say("dags", "code", "etl")
    monkeypatch.setattr(terminal, "on_terminal", lambda: True)
    assert "\x1b]" not in say("dags", "code", "etl", "--file", "etl.py")
    assert "\\x1b]0;owned\\x07" in say("dags", "code", "etl", "--file", "etl.py")


def test_ids_do_not_command_the_terminal(engine: Engine) -> None:
    """The ids are checked when a DAG is read; what is stored is not believed all the same."""
    put(engine, seed.dag(), etl=b"")
    put(engine, seed.dag(seed.task("\x1b[31m")), etl=b"")

    assert "\x1b" not in say("dags", "diff", "etl", "1", "2")


def test_the_graph_of_a_run_is_that_of_its_version(engine: Engine) -> None:
    mapped = replace(seed.task("b", "a"), mapped_over=(MapInput(argument="item", length=3),))
    run = seed.start_run(engine, seed.dag(seed.task("a"), mapped, seed.task("z", "a", "b")))
    force(engine, run, a="success", b="success success failed", z="upstream_failed")
    seed.store(engine, OLD)

    shown = say("runs", "show", "etl", RUN).splitlines()

    assert shown[3:9] == [
        "version 1, now 2 is in force",
        "●    a  success, 0.0 s",
        "├─╮",
        "● │  b  2 success, 1 failed (mapped)",
        "├─╯",
        "●    z  upstream_failed",
    ]
    [as_data] = data("runs", "show", "etl", RUN)
    assert (as_data["version"], as_data["in_force"]) == (1, 2)
    assert as_data["upstream"] == {"a": [], "b": ["a"], "z": ["a", "b"]}


def test_what_was_removed_from_a_run_is_marked(engine: Engine) -> None:
    run = seed.start_run(engine, OLD)
    force(engine, run, a="success", b="failed")
    seed.store(engine, seed.dag(seed.task("a")))
    say("runs", "clear", "etl", RUN, "--only-failed", "--version", "latest", "--yes")

    shown = say("runs", "show", "etl", RUN).splitlines()

    assert shown[3:6] == [
        "version 2",
        "●  a  success, 0.0 s",
        "not in version 2: b  removed, 0.0 s",
    ]


def test_a_large_graph_is_listed(engine: Engine) -> None:
    seed.start_run(engine, seed.wide(40))

    shown = say("runs", "show", "etl", RUN)

    assert "40 tasks: too many" in shown
    assert len([line for line in shown.splitlines() if line.startswith("t")]) == 41


def test_a_run_that_has_not_begun_has_a_graph(engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, OLD), [0])
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET pinned = false"))

    shown = say("runs", "show", "etl", RUN).splitlines()

    assert shown[3:6] == ["version 1; it may start with a later one", "●  a  -", "●  b  -"]


def test_clearing_says_which_version_runs(engine: Engine) -> None:
    run = seed.start_run(engine, OLD)
    force(engine, run, a="success", b="failed")
    seed.store(engine, NEW)

    own = say("runs", "clear", "etl", RUN, "--only-failed", "--yes")
    assert "it has version 1, while 2 is in force (--version latest takes that)" in own
    asked = fails("tasks", "clear", "etl", RUN, "a", "--version", "latest")
    assert "1 task added" in asked
    assert "it has version 2, which is in force, instead of 1. Nobody" in asked
    latest = say("tasks", "clear", "etl", RUN, "a", "--version", "latest", "--yes")
    assert "it has version 2, which is in force, instead of 1" in latest


def test_deleting_a_dag_and_asking_for_a_parse(engine: Engine) -> None:
    seed.store(engine, OLD)
    with engine.begin() as conn:
        conn.execute(text("INSERT INTO dag_file (bundle, relative_path) VALUES ('main', 'etl.py')"))

    assert say("dags", "reparse", "etl") == "A parser is asked to parse etl.py.\n"
    assert "is defined in etl.py" in fails("dags", "delete", "etl", "--yes")
    assert "with 0 runs, 0 task instances and 1 versions will be deleted. Nobody" in (
        fails("dags", "delete", "etl", "--anyway")
    )
    assert say("dags", "delete", "etl", "--anyway", "--yes") == (
        "Deleted the DAG etl with 0 runs, 0 task instances and 1 versions. "
        "Its file is parsed again.\n"
    )
