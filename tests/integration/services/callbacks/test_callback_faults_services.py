"""Workers and the database die around callbacks: each event is called at least once."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from headway.db.core.engine import is_transient
from headway.db.reads import callback_views, process_views
from headway.db.reads.callback_views import CallbackView
from headway.testing.processes import task_processes
from headway.testing.services.stack import Stack, running_stack
from headway.testing.time.clock import until

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "callbacks"
SETTINGS = {"HEADWAY_WORKER_CALLBACK_TIMEOUT": "600"}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_stack(tmp_path_factory.mktemp("faults"), DAGS, SETTINGS) as stack:
        yield stack


def noted(folder: Path, name: str) -> list[str]:
    file = folder / name
    return file.read_text().splitlines() if file.exists() else []


def worker(conn: Connection) -> int | None:
    """The process of the one worker that has not ended, as far as is known."""
    pids = [row.pid for row in process_views.processes(conn, "worker")]
    return int(pids[-1]) if pids else None


def ended(stack: Stack, dag_id: str, events: int) -> list[CallbackView]:
    """The callbacks of the DAG, when there are so many and all have ended."""

    def look() -> list[CallbackView] | None:
        try:
            with stack.engine.connect() as conn:
                rows = callback_views.callbacks(conn, dag_id)
        except DBAPIError as error:
            if not is_transient(error):
                raise
            return None
        return rows if len(rows) >= events and all(row.ended_at for row in rows) else None

    return until(look, f"the end of {events} callbacks of {dag_id}")


def test_what_a_killed_worker_was_calling_is_called_again_by_another(
    stack: Stack, tmp_path: Path
) -> None:
    run = stack.run("patient", {"folder": str(tmp_path)})
    [first] = until(lambda: noted(tmp_path, "waiting"), "the callback")

    os.kill(stack.until(worker, "the worker"), signal.SIGKILL)
    until(lambda: not task_processes.find(first), "the end of what it was calling")
    assert noted(tmp_path, "called") == []
    until(lambda: len(noted(tmp_path, "waiting")) == 2, "the second try")
    (tmp_path / "go").touch()

    [row] = ended(stack, "patient", 1)
    assert (row.state, row.tries, row.run_id) == ("success", 2, run.run_id)
    assert noted(tmp_path, "called") == ["quick"]
    log = stack.headway("callbacks", "logs", str(row.callback)).stdout
    assert "try 1 of 3" in log
    assert "try 2 of 3" in log
    assert run.attempt("quick").outcome == "success"


def test_an_event_is_one_callback_though_the_database_dies_as_it_is_reported(
    stack: Stack, tmp_path: Path
) -> None:
    """The attempt ends while there is nobody to report it to; so does what is called for it."""
    stack.trigger("interrupted", {"folder": str(tmp_path)})
    until(lambda: noted(tmp_path, "waiting"), "the task")

    kill_postgres(stack)
    (tmp_path / "end").touch()
    until(lambda: len(noted(tmp_path, "waiting")) >= 2, "the first callback")
    kill_postgres(stack)
    (tmp_path / "go").touch()

    rows = ended(stack, "interrupted", 2)
    assert [(row.task_id, row.event, row.state) for row in rows] == [
        (None, "success", "success"),
        ("slow", "success", "success"),
    ]
    assert set(noted(tmp_path, "called")) == {"slow", "run"}
    assert len(noted(tmp_path, "called")) <= sum(row.tries for row in rows)


def kill_postgres(stack: Stack) -> None:
    """Kill the server, without a chance to write anything; the launcher starts it again."""
    postmaster = stack.home / "postgres" / "data" / "postmaster.pid"
    os.kill(int(postmaster.read_text().split()[0]), signal.SIGKILL)
