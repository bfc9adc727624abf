"""Runs that a test's attempts ask for, and what becomes of the requests."""

from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Engine, text

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import run_requests
from headway.db.scheduling import tasks
from headway.domain.dag.retry import Next
from headway.domain.dag.run_request import RunAnswer, RunWanted
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed

ASKS: Final = "asks"
"""The DAG whose task asks."""

TARGET: Final = "target"
"""The DAG of which a run is asked for."""

AGAIN: Final = Next(TaskState.UP_FOR_RETRY, timedelta())

_RUNS: Final = text("SELECT run_id FROM dag_run WHERE dag_id = :dag_id ORDER BY id")
_SCHEDULE: Final = text("""
    UPDATE task_instance SET state = 'scheduled', retry_at = NULL
     WHERE id = :id AND state = 'up_for_retry'
""")


def asking(engine: Engine, target: str = TARGET, **stored: Any) -> AttemptKey:
    """Store the DAG that is asked for; return a running attempt of the one that asks."""
    seed.store(engine, seed.dag(dag_id=target), **stored)
    [key] = seed.running(engine, seed.dag(dag_id=ASKS))
    return key


def ask(engine: Engine, key: AttemptKey, number: int = 1, **wanted: Any) -> bool:
    """Ask for a run of the target."""
    with engine.begin() as conn:
        wanted = {"dag_id": TARGET, **wanted}
        return run_requests.ask(conn, key, number, RunWanted(**wanted))


def answer(engine: Engine, key: AttemptKey, number: int = 1) -> RunAnswer | None:
    """Return the answer to a request that was made."""
    with engine.connect() as conn:
        found = run_requests.answer(conn, key, number)
    assert found is not None
    return found[0]


def try_again(engine: Engine, key: AttemptKey, outcome: Outcome) -> AttemptKey:
    """End an attempt so; return the one after it, which runs."""
    seed.report(engine, [key], outcome, AGAIN)
    with engine.begin() as conn:
        conn.execute(_SCHEDULE, {"id": key.task_instance_id})
        tasks.queue(conn, [key.task_instance_id], seed.START, seed.SCHEDULER)
    [claimed] = seed.claim(engine, seed.register(engine, "worker"))
    return claimed.key


def run_ids(engine: Engine, dag_id: str = TARGET) -> list[str]:
    """Return the runs of a DAG, the first one first."""
    with engine.connect() as conn:
        return list(conn.scalars(_RUNS, {"dag_id": dag_id}))
