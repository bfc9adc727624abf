"""Schedulers are killed and paused at random while they work; what must hold is watched."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest
from sqlalchemy import Engine, text

from headway.db.execution.attempts import Claimed
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DagSpec, MapInput
from headway.domain.states import Outcome, TaskState
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.processes.parent_death import dies_with_parent
from headway.runtime.settings import configuration
from headway.testing.data import seed
from headway.testing.data.stand_in import SUCCESS, StandIn
from headway.testing.database.invariants import violations

pytestmark = [pytest.mark.services, pytest.mark.long]

CLOCK, NEVER = SystemClock(), Event()
HARM = 12.0
"""Seconds for which schedulers are killed and paused."""

PATIENCE = 90.0
"""Seconds after that in which all runs must have ended."""

DAGS, DAYS = 4, 8

QUICK = {
    "HEADWAY_SCHEDULER_HEARTBEAT_INTERVAL": "0.2",
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "1",
    "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL": "0.3",
    "HEADWAY_SCHEDULER_MAX_TIS_PER_QUERY": "7",
    "HEADWAY_SCHEDULER_MAX_DAGRUNS_PER_LOOP_TO_SCHEDULE": "5",
}
"""Small batches and a short patience: many passes, many of them interrupted."""

ENDED_RUNS = text("SELECT count(*) FROM dag_run WHERE ended_at IS NOT NULL")
TASKS = text("SELECT state, count(*) FROM task_instance GROUP BY state")
FENCED = 3


def diamond(dag_id: str) -> DagSpec:
    """Return a DAG that forks, maps and joins, under every kind of limit."""
    tasks = (
        seed.task("first"),
        replace(seed.task("narrow", "first"), max_active_tis_per_dag=1),
        replace(seed.task("once", "first"), max_active_tis_per_dagrun=1),
        replace(
            seed.task("mapped", "first"),
            mapped_over=(MapInput(argument="x", length=6),),
            max_active_tis_per_dagrun=2,
            pool="small",
            pool_slots=2,
        ),
        seed.task("last", "narrow", "once", "mapped"),
    )
    return replace(
        seed.dag(*tasks, dag_id=dag_id),
        end_date=seed.START + (DAYS - 1) * seed.DAY,
        max_active_runs=2,
        max_active_tasks=7,
        max_active_tasks_per_dagrun=5,
    )


def sometimes(claimed: Claimed) -> tuple[Outcome, Next]:
    """Fail the first attempt of every third task, and none after it."""
    if claimed.key.attempt == 1 and claimed.key.task_instance_id % 3 == 0:
        return Outcome.FAILED, Next(TaskState.UP_FOR_RETRY, timedelta(0))
    return SUCCESS


@dataclass
class Schedulers:
    """Real scheduler processes; one that ends is replaced."""

    environment: dict[str, str]
    log: Path
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def start(self) -> None:
        """Start one more."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                dies_with_parent([sys.executable, "-m", "headway.cli", "scheduler"]),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)

    def replace_dead(self) -> None:
        """Start another one for each that has ended."""
        for process in [process for process in self.processes if process.poll() is not None]:
            self.ends.append(process.returncode)
            self.processes.remove(process)
            self.start()

    def stop(self) -> None:
        """Stop all of them."""
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self.processes:
            process.wait(PATIENCE)


@contextmanager
def watched(engine: Engine, found: list[str]) -> Iterator[None]:
    """Ask for violations again and again; they are added to `found`."""
    stop = Event()

    def look() -> None:
        while not CLOCK.wait(stop, 0.02):
            found.extend(violations(engine))

    thread = Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def working(worker: StandIn) -> Iterator[None]:
    """Have the stand-in work in the background."""
    stop = Event()

    def work() -> None:
        while not CLOCK.wait(stop, 0.0 if worker.step() else 0.01):
            pass

    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def do_harm(schedulers: Schedulers, random: Random) -> None:
    """Kill or pause a scheduler now and then, and replace what has ended."""
    until = CLOCK.monotonic() + HARM
    while CLOCK.monotonic() < until:
        CLOCK.wait(NEVER, random.uniform(0.05, 0.6))
        schedulers.replace_dead()
        victim = random.choice(schedulers.processes)
        if random.random() < 0.5:
            victim.kill()
        else:
            victim.send_signal(signal.SIGSTOP)
            CLOCK.wait(NEVER, random.choice((0.1, 0.5, 2.0)))
            victim.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("count", [2, 3])
def test_killed_and_paused_schedulers_break_nothing(
    engine: Engine, database_url: str, tmp_path: Path, count: int
) -> None:
    with engine.begin() as conn:
        conn.execute(text("INSERT INTO pool (name, slots) VALUES ('small', 5)"))
        conn.execute(text("UPDATE pool SET slots = 12 WHERE name = 'default_pool'"))
    for number in range(DAGS):
        seed.store(engine, diamond(f"dag{number}"))
    given = {**configuration.environment(), **QUICK, "HEADWAY_HOME": str(tmp_path)}
    schedulers = Schedulers(
        {**given, "HEADWAY_DATABASE_URL": database_url}, tmp_path / "schedulers.log"
    )
    random, found = Random(count), list[str]()
    worker = StandIn(engine, seed.register(engine, "worker"), random, sometimes)
    try:
        for _ in range(count):
            schedulers.start()
        with watched(engine, found), working(worker):
            do_harm(schedulers, random)
            deadline = CLOCK.monotonic() + PATIENCE
            while _unfinished(engine) and CLOCK.monotonic() < deadline:
                schedulers.replace_dead()
                CLOCK.wait(NEVER, 0.1)
    finally:
        schedulers.stop()

    log = schedulers.log.read_text(errors="replace")
    assert found == [], log[-3000:]
    assert _unfinished(engine) == 0, f"runs are left\n{log[-3000:]}"
    assert violations(engine) == []
    assert seed.run_states(engine) == {"success": DAGS * DAYS}
    with engine.connect() as conn:
        assert dict(conn.execute(TASKS).all()) == {"success": DAGS * DAYS * 10}
    assert set(schedulers.ends) <= {-signal.SIGKILL, 128 + signal.SIGKILL, FENCED}, log[-3000:]
    assert len(worker.ended) == len(set(worker.ended)), "an attempt has ended twice"


def _unfinished(engine: Engine) -> int:
    with engine.connect() as conn:
        return DAGS * DAYS - int(conn.scalar(ENDED_RUNS) or 0)
