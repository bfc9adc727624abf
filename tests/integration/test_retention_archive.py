"""What is archived before it is removed reads back as it was, each row once, after any crash."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlalchemy import Engine
from tests.integration.retained import add_runs, ids, run_sql
from typer.testing import CliRunner, Result

from headway.actions import clean as action
from headway.actions.archive import STAGED, Archive
from headway.actions.clean import Request
from headway.actions.intervene import Author
from headway.cli.cleaning import Cleaning
from headway.cli.main import app
from headway.db.logins import Login
from headway.domain.errors import ArchiveError, ConflictError, SettingsError
from headway.domain.retention import Kind
from headway.testing import logins
from headway.testing.clock import FakeClock

MONTH = 30 * 86_400.0
RUNS = Request(Kind.RUNS, MONTH)
TABLES = ("dag_run", "task_instance", "task_attempt", "xcom", "callback")


class Killed(BaseException):
    """What ends the process at once."""


def kill(*_: object) -> None:
    raise Killed


def rows(folder: Path, table: str, what: str = "count(*)") -> list[tuple[Any, ...]]:
    if not (folder / table).is_dir():
        return [(0,)]
    return asked(f"SELECT {what} FROM '{folder}/{table}/*.parquet'")


def asked(question: str) -> list[tuple[Any, ...]]:
    return duckdb.connect().execute(question).fetchall()


def counts(folder: Path) -> dict[str, int]:
    return {table: rows(folder, table)[0][0] for table in TABLES}


def clean(url: str, *given: str) -> Result:
    names = {"HEADWAY_DATABASE_URL": logins.address(url, Login.USER)}
    start = ["db", "clean", "--older-than", "30d", "--yes", "-o", "json"]
    return CliRunner().invoke(app, [*start, *given], env=names)


def test_what_is_removed_reads_back_in_duckdb(
    engine: Engine, database_url: str, tmp_path: Path
) -> None:
    add_runs(engine, [60, 50, 40], tasks=3)
    run_sql(engine, "UPDATE task_attempt SET handle = '{\"kind\": \"connect\"}', error = 'é'")

    done = clean(database_url, "--archive", tmp_path.as_uri())

    assert done.exit_code == 0, done.output
    # The callbacks of the run that stays have gone as callbacks.
    assert counts(tmp_path) == {
        "dag_run": 2, "task_instance": 6, "task_attempt": 6, "xcom": 6, "callback": 3,
    }  # fmt: skip
    assert len(ids(engine)) == 1
    [(value,)] = rows(tmp_path, "xcom", "DISTINCT value")
    assert json.loads(value) == {"rows": 42}
    assert rows(tmp_path, "task_attempt", "DISTINCT error, handle") == [
        ("é", '{"kind": "connect"}')
    ]
    described = asked(f"DESCRIBE SELECT * FROM '{tmp_path}/task_attempt/*.parquet'")
    columns = {row[0] for row in described}
    assert "token" not in columns
    assert not any((tmp_path / STAGED).iterdir())


@pytest.fixture
def cleaning(engine: Engine, tmp_path: Path) -> Cleaning:
    return Cleaning(engine, Author("user:ann"), Archive.at(tmp_path.as_uri()), FakeClock())


@pytest.mark.parametrize("where", ["stage", "remove", "keep"])
def test_a_crash_loses_nothing_and_nothing_is_there_twice(
    engine: Engine,
    cleaning: Cleaning,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
) -> None:
    add_runs(engine, [60, 50, 40], tasks=3)
    with monkeypatch.context() as patch:
        if where == "stage":
            patch.setattr("headway.actions.archive._parquet", dies_at(3))
        elif where == "remove":
            patch.setattr(action, "remove", kill)
        else:
            patch.setattr(Archive, "_drop_folder", kill)
            patch.setattr(Archive, "_move", first_moves(Archive._move))
        with pytest.raises(Killed):
            cleaning.remove(RUNS)
    in_database = len(ids(engine))
    run_sql(engine, "UPDATE dag_run SET ended_at = ended_at + interval '15 days' WHERE id = 2")

    finished = cleaning.recover()
    cleaning.remove(RUNS)
    run_sql(engine, "UPDATE dag_run SET ended_at = ended_at - interval '15 days' WHERE id = 2")
    cleaning.remove(RUNS)

    assert in_database == (1 if where == "keep" else 3)
    assert finished == (where == "keep")
    assert len(ids(engine)) == 1
    assert counts(tmp_path) == {
        "dag_run": 2, "task_instance": 6, "task_attempt": 6, "xcom": 6, "callback": 2,
    }  # fmt: skip


def dies_at(number: int) -> Callable[..., bytes]:
    left = iter(range(number - 1))

    def write(*_: object) -> bytes:
        if next(left, None) is None:
            raise Killed
        return b"half"

    return write


def first_moves(move: Callable[[Archive, str, str], None]) -> Callable[[Archive, str, str], None]:
    """Move the files of one table, and die before the next one."""
    moved: list[str] = []

    def once(its: Archive, portion: str, table: str) -> None:
        if moved:
            raise Killed
        moved.append(table)
        move(its, portion, table)

    return once


def test_a_staged_portion_is_dropped_when_nobody_can_be_about_to_remove_its_rows(
    engine: Engine, cleaning: Cleaning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_runs(engine, [60, 50])
    with monkeypatch.context() as patch:
        patch.setattr(action, "remove", kill)
        with pytest.raises(Killed):
            cleaning.remove(RUNS)
    archive = Archive.at(tmp_path.as_uri())
    [staged] = (tmp_path / STAGED).iterdir()

    archive.recover(lambda *_: True, datetime.now(UTC))
    assert staged.is_dir()
    for file in staged.iterdir():
        os.utime(file, (0, 0))
    archive.recover(lambda *_: True, datetime.now(UTC))

    assert not staged.exists()
    assert len(ids(engine)) == 2


def test_rows_that_another_process_has_are_neither_archived_nor_removed(
    engine: Engine, cleaning: Cleaning, tmp_path: Path
) -> None:
    first, _ = add_runs(engine, [60, 50])
    with engine.begin() as conn:
        conn.exec_driver_sql(f"SELECT FROM dag_run WHERE id = {first} FOR UPDATE")
        with pytest.raises(ConflictError, match="holds the oldest runs"):
            cleaning.remove(RUNS)

    assert counts(tmp_path)["dag_run"] == 0
    assert not any((tmp_path / STAGED).iterdir())
    cleaning.remove(RUNS)
    assert counts(tmp_path)["dag_run"] == 1


@pytest.mark.parametrize(
    ("where", "error", "said"),
    [
        ("file:///proc/nowhere", ArchiveError, "may write there"),
        ("/var/archive", SettingsError, "file:///folder"),
        ("s3://key:secret@bucket/x", SettingsError, "without a login"),
        ("gs://bucket", SettingsError, "file:///folder"),
    ],
)
def test_nothing_is_removed_where_nothing_can_be_archived(
    engine: Engine, database_url: str, where: str, error: type[Exception], said: str
) -> None:
    add_runs(engine, [60, 50])

    done = clean(database_url, "--archive", where)

    assert isinstance(done.exception, error)
    assert said in str(done.exception)
    assert len(ids(engine)) == 2
