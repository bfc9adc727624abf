"""A parser whose children are forked by a program that knows of no database."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from sqlalchemy import Engine, text
from tests.integration.parser_machine import CLOCK, manager_of, until
from tests.integration.parses import versions

from headway.actions.change import Author
from headway.actions.dags.delete import reparse
from headway.db.reads import dag_views
from headway.runtime.secrets.scrub import scrubbed_environment
from headway.runtime.settings import configuration
from headway.testing.time.clock import PATIENCE

OF_A_SET = """
from headway.sdk import DAG, EmptyOperator

with DAG("d"):
    for name in {"clean", "copy", "drop", "load", "merge", "move", "sort", "tell"}:
        EmptyOperator(task_id=name)
"""
PARSED_AT = text("SELECT parsed_at FROM dag_file")


@pytest.fixture
def forker(tmp_path: Path) -> Iterator[tuple[Path, "subprocess.Popen[bytes]"]]:
    """The socket of a fork server that runs by itself, as it would in a container, and it."""
    path = tmp_path / "forker.sock"
    command = ["-m", "headway.cli", "forker", "--socket", str(path), "--for", "parser"]
    process = subprocess.Popen(
        [sys.executable, *command], env=scrubbed_environment(configuration.environment())
    )
    deadline = CLOCK.monotonic() + PATIENCE
    while not path.exists():
        assert process.poll() is None
        assert CLOCK.monotonic() < deadline
        CLOCK.wait(Event(), 0.02)
    yield path, process
    process.terminate()
    process.wait(PATIENCE)


def dag_ids(engine: Engine) -> list[str]:
    with engine.connect() as conn:
        return [row.dag_id for row in dag_views.dags(conn)]


def test_files_are_parsed_by_a_fork_server_that_runs_already(
    engine: Engine, tmp_path: Path, forker: tuple[Path, "subprocess.Popen[bytes]"]
) -> None:
    path, process = forker
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "d.py").write_text("from headway.sdk import DAG\nDAG('d')\n")

    with manager_of(engine, tmp_path / "dags", forker=path) as manager:
        until(manager, lambda: dag_ids(engine) == ["d"])
    assert process.poll() is None

    (tmp_path / "dags" / "e.py").write_text("from headway.sdk import DAG\nDAG('e')\n")
    with manager_of(engine, tmp_path / "dags", forker=path) as manager:
        until(manager, lambda: dag_ids(engine) == ["d", "e"])


def test_a_dag_that_is_made_from_a_set_is_the_same_whatever_has_read_it(
    engine: Engine,
    tmp_path: Path,
    forker: tuple[Path, "subprocess.Popen[bytes]"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "d.py").write_text(OF_A_SET)

    def parsed_at() -> object:
        with engine.connect() as conn:
            return conn.execute(PARSED_AT).scalar()

    def read(seed: str, path: Path | None) -> None:
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        before = parsed_at()
        with manager_of(engine, tmp_path / "dags", forker=path) as manager:
            until(manager, lambda: parsed_at() != before)
        with engine.begin() as conn:
            reparse(conn, "d", Author("user:ann"))

    read("1", None)
    read("2", None)
    read("3", forker[0])

    assert versions(engine) == [("d", 1)]
