"""A week is backfilled while a scheduler, the worker and Postgres are killed in the middle of it."""

import json
import os
import re
import signal
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import verify
from live_attempts import LiveAttempts
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from headway.cli.demo import examples_folder
from headway.db.engine import is_transient
from headway.testing.machine import processes_below, until
from headway.testing.stack import Stack, running_stack

pytestmark = [pytest.mark.services, pytest.mark.spark]

DAYS = [f"2013-01-0{number}" for number in range(1, 8)]
TASKS = 8
LONG = 300.0
"""Seconds for the whole backfill, with all that is lost on the way."""

PROGRESS = text("""
    SELECT count(*) FILTER (WHERE it.outcome = 'success') AS succeeded,
           count(*) FILTER (WHERE it.phase = 'running') AS running
      FROM task_attempt AS it
""")
PIDS = text("SELECT pid FROM process WHERE kind = :kind AND ended_at IS NULL ORDER BY id")
OPEN_RUNS = text("SELECT count(*) FROM dag_run WHERE ended_at IS NULL")
RUNS = text("SELECT interval_start::date::text AS day, state FROM dag_run ORDER BY 1")
INSTANCES = text("SELECT id, state, attempt, failures, losses FROM task_instance")
ATTEMPTS = text("""
    SELECT task_instance_id, attempt, started_at, ended_at, outcome
      FROM task_attempt ORDER BY task_instance_id, attempt
""")


@dataclass(frozen=True)
class Aftermath:
    """What was there when the backfill had ended, and when everything had stopped."""

    output: Path
    runs: Mapping[str, str]
    instances: list[Any]
    attempts: Mapping[int, list[Any]]
    seen: LiveAttempts
    said: str
    left: Mapping[int, str]
    status: int


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aftermath]:
    root = tmp_path_factory.mktemp("chaos")
    home, output = root / "home", root / "output"
    (root / "user").mkdir()
    dags = examples_folder() / "dags"
    with running_stack(home, dags, {"HOME": str(root / "user")}, schedulers=2) as stack:
        created = stack.headway(
            *("backfill", "create", "flights_daily", "--from", DAYS[0], "--to", DAYS[-1]),
            *("--conf", json.dumps({"output": str(output)}), "--no-wait"),
        )
        assert created.returncode == 0, created.stderr
        with LiveAttempts.recorded(home / "scratch") as seen:
            _do_harm(stack)
            until(lambda: _counted(stack, OPEN_RUNS) == (0,), "the end of the backfill", LONG)
        with stack.engine.connect() as conn:
            runs = {row.day: row.state for row in conn.execute(RUNS)}
            instances = list(conn.execute(INSTANCES))
            attempts = defaultdict(list)
            for row in conn.execute(ATTEMPTS):
                attempts[row.task_instance_id].append(row)
        stack.service.send_signal(signal.SIGINT)
        status = stack.service.wait(LONG)
    said = (home / "standalone.log").read_text()
    yield Aftermath(
        output, runs, instances, attempts, seen, said, processes_below(root), status
    )


def _do_harm(stack: Stack) -> None:
    """Kill a scheduler, the worker and Postgres: each while something runs, well apart."""
    _when(stack, succeeded=3)
    _kill(stack, _pids(stack, "scheduler")[0])
    until(lambda: len(_pids(stack, "scheduler")) == 2, "two schedulers again")
    _when(stack, succeeded=8)
    _kill(stack, _pids(stack, "worker")[0])
    _when(stack, succeeded=20)
    _kill(stack, int((stack.home / "postgres/data/postmaster.pid").read_text().split()[0]))


def _when(stack: Stack, succeeded: int) -> None:
    def is_in_the_middle() -> bool:
        counted = _counted(stack, PROGRESS)
        return counted is not None and counted[0] >= succeeded and counted[1] > 0

    until(is_in_the_middle, f"{succeeded} tasks done while another runs", LONG)


def _pids(stack: Stack, kind: str) -> list[int]:
    with stack.engine.connect() as conn:
        return list(conn.scalars(PIDS, {"kind": kind}))


def _kill(stack: Stack, pid: int) -> None:
    assert pid in processes_below(stack.home), "only what this test has started may be killed"
    os.kill(pid, signal.SIGKILL)
