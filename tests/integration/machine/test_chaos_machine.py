"""Three days are backfilled while a scheduler, the worker and Postgres are killed."""

import json
import os
import re
import signal
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import verify
from sqlalchemy import Engine, TextClause, text
from sqlalchemy.exc import DBAPIError
from tests.acceptance.flights_backfill import LIGHT_WORK

from headway.cli.launch.demo import examples_folder
from headway.db.core.engine import is_transient
from headway.testing.processes.live_attempts import LiveAttempts
from headway.testing.services.machine import Command, Machine
from headway.testing.time.clock import until

pytestmark = [pytest.mark.services, pytest.mark.spark, pytest.mark.long]

DAYS = [f"2013-01-0{number}" for number in range(1, 4)]
TASKS = 8
LONG = 300.0
"""Seconds for the whole backfill, with all that is lost on the way."""

PROGRESS = text("""
    SELECT count(*) FILTER (WHERE it.outcome = 'success') AS succeeded,
           count(*) FILTER (WHERE it.phase = 'running') AS running
      FROM task_attempt AS it
""")
PIDS = text("SELECT pid FROM process WHERE kind = :kind AND ended_at IS NULL ORDER BY id")
LOCKED_RUNNING = text("""
    SELECT count(*) FROM (SELECT FROM task_attempt WHERE phase = 'running' FOR NO KEY UPDATE) AS it
""")
ACTIVE_DAGS = text("SELECT count(*) FROM dag WHERE active")
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
    standalone: Command
    left: Mapping[int, str]
    status: int


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    given = {"HEADWAY_WORKER_SPARK_CONF": json.dumps(LIGHT_WORK)}
    machine = Machine.new(tmp_path_factory.mktemp("chaos"), given)
    output = machine.root / "output"
    dags = examples_folder() / "dags"
    with machine.standalone(dags, "--schedulers", "2") as (standalone, engine):
        until(lambda: _row(engine, ACTIVE_DAGS) == (1,), "the DAG in force")
        days = ["--from", DAYS[0], "--to", DAYS[-1], "--conf", json.dumps({"output": str(output)})]
        created = machine.run("backfill", "create", "flights_daily", *days, "--no-wait")
        assert created.returncode == 0, created.stderr
        with LiveAttempts.recorded(machine.home / "scratch") as seen:
            _do_harm(machine, engine)
            until(lambda: _row(engine, OPEN_RUNS) == (0,), "the end of the backfill", LONG)
        with engine.connect() as conn:
            runs = {row.day: row.state for row in conn.execute(RUNS)}
            instances = list(conn.execute(INSTANCES))
            attempts = defaultdict(list)
            for row in conn.execute(ATTEMPTS):
                attempts[row.task_instance_id].append(row)
        status = standalone.end(signal.SIGINT)
    left = machine.processes()
    return Aftermath(output, runs, instances, attempts, seen, standalone, left, status)


def _do_harm(machine: Machine, engine: Engine) -> None:
    """Kill a scheduler, the worker and Postgres: each while something runs, well apart."""
    _when(engine, succeeded=3)
    _kill(machine, _pid(engine, "scheduler"))
    _when(engine, succeeded=7)
    _kill(machine, _stopped_amid_a_task(machine, engine))
    _when(engine, succeeded=12)
    postmaster = machine.home / "postgres" / "data" / "postmaster.pid"
    _kill(machine, int(postmaster.read_text().split()[0]))


def _when(engine: Engine, succeeded: int) -> None:
    def is_in_the_middle() -> bool:
        counted = _row(engine, PROGRESS)
        return counted is not None and counted[0] >= succeeded and counted[1] > 0

    until(is_in_the_middle, f"{succeeded} tasks done while another runs", LONG)


def _stopped_amid_a_task(machine: Machine, engine: Engine) -> int:
    """Stop the worker where a task is running that the worker can no more report; return its pid.

    A stopped worker may have sent a last statement.  Where that is the commit of a report, the
    rows are locked until it is done; where it is another, no commit follows.
    """

    def is_amid_a_task() -> bool:
        _signal(machine, worker, signal.SIGSTOP)
        running = _row(engine, LOCKED_RUNNING)
        if running is not None and running[0] > 0:
            return True
        _signal(machine, worker, signal.SIGCONT)
        return False

    worker = _pid(engine, "worker")
    until(is_amid_a_task, "the worker amid a task", LONG)
    return worker


def _row(engine: Engine, query: TextClause) -> Any:
    """Return the one row of a query; None while the database is away."""
    try:
        with engine.connect() as conn:
            return conn.execute(query).one()
    except DBAPIError as error:
        if not is_transient(error):
            raise
        return None


def _pid(engine: Engine, kind: str) -> int:
    with engine.connect() as conn:
        return int(conn.execute(PIDS, {"kind": kind}).scalars().first() or 0)


def _kill(machine: Machine, pid: int) -> None:
    _signal(machine, pid, signal.SIGKILL)


def _signal(machine: Machine, pid: int, signum: signal.Signals) -> None:
    assert pid in machine.processes(), "only what this test has started may be signalled"
    os.kill(pid, signum)


def test_every_run_succeeds(aftermath: Aftermath) -> None:
    assert aftermath.runs == dict.fromkeys(DAYS, "success")


def test_every_partition_is_right(aftermath: Aftermath) -> None:
    assert verify.compare(aftermath.output, DAYS) == []


def test_no_task_ever_had_two_live_attempts(aftermath: Aftermath) -> None:
    for attempts in aftermath.attempts.values():
        for earlier, later in pairwise(attempts):
            assert earlier.ended_at <= later.started_at
        assert all(one.started_at <= one.ended_at for one in attempts if one.started_at)


def test_the_machine_never_saw_two_attempts_of_a_task_at_once(aftermath: Aftermath) -> None:
    assert len({task for task, _attempt in aftermath.seen.seen}) > len(DAYS)
    assert aftermath.seen.doubled == set()


def test_attempts_are_numbered_without_a_gap(aftermath: Aftermath) -> None:
    assert len(aftermath.attempts) == len(aftermath.instances) == TASKS * len(DAYS)
    for instance in aftermath.instances:
        numbers = [one.attempt for one in aftermath.attempts[instance.id]]
        assert numbers == list(range(1, instance.attempt + 1))


def test_losses_are_counted_and_are_no_failures(aftermath: Aftermath) -> None:
    for instance in aftermath.instances:
        outcomes = [one.outcome for one in aftermath.attempts[instance.id]]
        assert outcomes == ["lost"] * instance.losses + ["success"]
        assert instance.failures == 0
    assert sum(instance.losses for instance in aftermath.instances) > 0


@pytest.mark.parametrize(
    "obituary",
    [
        r"The scheduler-[12] was killed by SIGKILL; it is started again in 0\.5 s",
        r"The worker was killed by SIGKILL; it is started again in 0\.5 s",
        r"Postgres has died; it is started again\.",
    ],
)
def test_standalone_says_once_what_it_starts_again(aftermath: Aftermath, obituary: str) -> None:
    assert len(re.findall(obituary, aftermath.standalone.complained())) == 1


def test_nothing_else_died_and_everything_ends_with_it(aftermath: Aftermath) -> None:
    assert aftermath.standalone.complained().count("started again") == 3
    assert aftermath.standalone.printed().endswith("Stopped.\n")
    assert (aftermath.status, aftermath.left) == (0, {})
