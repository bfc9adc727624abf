"""How long a person waits for a command, also where a database has a million task instances."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sqlalchemy import text

from benchmarks.support import bulk_history, server
from benchmarks.support.report import Row
from benchmarks.support.server import Database
from benchmarks.support.shapes import Shape, spec, store, task
from benchmarks.support.turns import turns
from headway.db.access.logins import Login
from headway.testing.data import seed

NAME: Final = "cli"
REPEAT: Final = 7
HELP: Final = 0.25
"""Seconds that a command may take which asks nothing."""

ASKING: Final = 0.5
"""Seconds that a command may take which asks the database."""

KNOWN: Final = Shape("known", 500, 100, 10)
"""The DAGs that there are, and finished runs of each."""

WAITING_RUNS, WAITING_TASKS = 5_000, 100
RUN: Final = ("waiting", "manual__1")

COMMANDS: Final[Sequence[Sequence[str]]] = (
    ("status",),
    ("dags", "list"),
    ("dags", "show", "dag_0001"),
    ("dags", "pause", "dag_0001"),
    ("runs", "list"),
    ("runs", "show", *RUN),
    ("tasks", "list", *RUN),
    ("explain", *RUN, "t1"),
    ("pools", "list"),
    ("worker", "list"),
    ("backfill", "list"),
    ("callbacks", "list"),
    ("events",),
)


def run() -> Iterator[Row]:
    """Measure commands that ask nothing, and then those that ask the database."""
    for program in ("headway.cli", "headway.kubectl"):
        yield _row(f"{program} --help", HELP, [program, "--help"], os.environ)
    with server.running() as postgres, postgres.database("cli") as database:
        _fill(database)
        environment = {**os.environ, "HEADWAY_DATABASE_URL": database.urls[Login.USER]}
        for command in COMMANDS:
            case = f"headway {' '.join(command)}"
            yield _row(case, ASKING, ["headway.cli", *command, "-o", "json"], environment)


def _fill(database: Database) -> None:
    """Enter half a million finished task instances, and half a million that wait."""
    engine = database.owner
    store(engine, KNOWN.specs())
    bulk_history.add_history(engine, KNOWN.runs)
    store(engine, [spec("waiting", [task(f"t{nth}") for nth in range(WAITING_TASKS)])])
    bulk_history.add_runs(engine, "waiting", {"scheduled": WAITING_RUNS})
    for kind in ("scheduler", "parser", "worker"):
        seed.register(engine, kind)
    with engine.connect() as conn:
        found = conn.scalar(text("SELECT count(*) FROM task_instance"))
    assert found == KNOWN.instances + WAITING_RUNS * WAITING_TASKS, found


def _row(case: str, target: float, words: Sequence[str], environment: Mapping[str, str]) -> Row:
    seconds = [_seconds(words, environment) for _ in turns(REPEAT)]
    return Row.at_most(NAME, case, seconds, "s", target)


def _seconds(words: Sequence[str], environment: Mapping[str, str]) -> float:
    """Return how long a command takes as a shell runs it; 1 tells of something that is stuck."""
    command = [sys.executable, "-m", *words]
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    seconds = time.perf_counter() - started
    assert done.returncode in {0, 1}, done.stderr.decode()
    return seconds
