"""What is archived before it is removed reads back as it was, each row once, after any crash."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlalchemy import Engine
from sqlalchemy.pool import QueuePool
from tests.integration.retained import add_runs, ids, run_sql
from typer.testing import CliRunner, Result

from headway.actions.change import Author
from headway.actions.retention import removal as action
from headway.actions.retention.archive import STAGED, Archive
from headway.actions.retention.cleaning import Cleaning
from headway.actions.retention.removal import RemovalRequest
from headway.cli.main import app
from headway.db.access.logins import Login
from headway.domain.errors import ArchiveError, ConflictError, SettingsError
from headway.domain.retention import RetainedKind
from headway.testing.database import logins
from headway.testing.time.clock import FakeClock

MONTH = 30 * 86_400.0
RUNS = RemovalRequest(RetainedKind.RUNS, MONTH)
ANOTHER_DATABASE = "UPDATE dag_run SET created_at = created_at + interval '1 second'"
THIS_DATABASE = "UPDATE dag_run SET created_at = created_at - interval '1 second'"
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


def test_no_transaction_waits_for_a_store_that_is_slow(
    engine: Engine, cleaning: Cleaning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends a session that is idle in a transaction for ten seconds."""
    add_runs(engine, [60, 50])
    real, open_while_writing = Archive._write, []

    def write(its: Archive, path: str, content: object) -> None:
        open_while_writing.append(checked_out(engine))
        real(its, path, content)

    monkeypatch.setattr(Archive, "_write", write)
    cleaning.remove(RUNS)

    assert counts(tmp_path)["dag_run"] == 1
    assert open_while_writing == [0] * len(TABLES)


def checked_out(engine: Engine) -> int:
    assert isinstance(engine.pool, QueuePool)
    return engine.pool.checkedout()


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
            patch.setattr("headway.actions.retention.archive._parquet", dies_at(3))
        elif where == "remove":
            patch.setattr(action, "remove", kill)
        else:
            patch.setattr(Archive, "_drop_folder", kill)
            patch.setattr(Archive, "_move", first_moves(Archive._move))
        with pytest.raises(Killed):
            cleaning.remove(RUNS)
    in_database = len(ids(engine))
    run_sql(engine, "UPDATE dag_run SET ended_at = ended_at + interval '15 days' WHERE id = 2")

    finished = cleaning.recover().kept
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


def first_moves(move: Callable[[Archive, str, str], bool]) -> Callable[[Archive, str, str], bool]:
    """Move the files of one table, and die before the next one."""
    moved: list[str] = []

    def once(its: Archive, portion: str, table: str) -> bool:
        if moved:
            raise Killed
        moved.append(table)
        return move(its, portion, table)

    return once


def test_a_staged_portion_is_dropped_when_nobody_can_be_about_to_remove_its_rows(
    engine: Engine, cleaning: Cleaning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_runs(engine, [60, 50])
    with monkeypatch.context() as patch:
        patch.setattr(action, "remove", kill)
        with pytest.raises(Killed):
            cleaning.remove(RUNS)
    [staged] = (tmp_path / STAGED).iterdir()
    cleaning.recover()
    assert staged.is_dir()

    age(staged)
    run_sql(engine, ANOTHER_DATABASE)
    assert cleaning.recover().left == 1
    assert staged.is_dir(), "the same ids, but not the same rows"

    run_sql(engine, THIS_DATABASE)
    assert cleaning.recover().dropped == 1
    assert not staged.exists()
    assert len(ids(engine)) == 2


def age(staged: Path) -> None:
    for file in staged.iterdir():
        os.utime(file, (0, 0))


def test_a_portion_that_another_database_has_removed_is_left_to_it(
    engine: Engine, database_url: str, cleaning: Cleaning, tmp_path: Path
) -> None:
    add_runs(engine, [60, 50])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Archive, "keep", kill)
        with pytest.raises(Killed):
            cleaning.remove(RUNS)
    run_sql(engine, "DELETE FROM event WHERE action = 'db.clean'")  # the other one has it
    [staged] = (tmp_path / STAGED).iterdir()
    age(staged)

    done = clean(database_url, "--kind", "runs", "--archive", tmp_path.as_uri())

    assert (staged / "dag_run.parquet").is_file()
    assert counts(tmp_path)["dag_run"] == 0
    assert "this database knows nothing: 1, below" in done.stderr


def test_two_archivers_at_once_lose_nothing(
    engine: Engine, cleaning: Cleaning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one finds the rows that the first one is removing, and gives up on them."""
    add_runs(engine, [60, 50, 40], tasks=3)
    real, other = action.remove, Cleaning(engine, Author("user:bob"), cleaning.archive, FakeClock())

    def remove(*given: Any) -> int:
        removed = real(*given)
        if given[3].actor == "user:ann" and removed:
            with pytest.raises(ConflictError, match="holds the oldest runs"):
                other.remove(RUNS)
            other.recover()
        return removed

    monkeypatch.setattr(action, "remove", remove)
    cleaning.remove(RUNS)

    assert len(ids(engine)) == 1
    assert counts(tmp_path) == {
        "dag_run": 2, "task_instance": 6, "task_attempt": 6, "xcom": 6, "callback": 2,
    }  # fmt: skip
    assert not any((tmp_path / STAGED).iterdir())


def test_a_second_database_overwrites_nothing(
    engine: Engine, cleaning: Cleaning, tmp_path: Path
) -> None:
    add_runs(engine, [60, 50])
    cleaning.remove(RUNS)
    run_sql(engine, "TRUNCATE dag_run RESTART IDENTITY CASCADE")
    add_runs(engine, [58, 48])

    cleaning.remove(RUNS)

    assert sorted(rows(tmp_path, "dag_run", "id, run_id")) == [
        (1, "scheduled__58"), (1, "scheduled__60"),
    ]  # fmt: skip


def test_a_portion_that_somebody_has_taken_away_is_an_error(
    engine: Engine, cleaning: Cleaning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_runs(engine, [60, 50])
    real = action.remove

    def remove(*given: Any) -> int:
        for file in (tmp_path / STAGED).glob("*/dag_run.parquet"):
            file.unlink()
        return real(*given)

    monkeypatch.setattr(action, "remove", remove)
    with pytest.raises(ArchiveError, match=r"has lost _staged/runs-.*dag_run\.parquet"):
        cleaning.remove(RUNS)


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
