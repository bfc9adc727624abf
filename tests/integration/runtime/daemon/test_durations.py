"""Ends are never before their starts, also after the database's clock was set back."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, text

from headway.db.changes import run_changes
from headway.db.core import events
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.events import Event
from headway.db.recovery import lost_attempts
from headway.db.scheduling import runs
from headway.decide.changes.intervene import Intervention
from headway.domain.dag.retry import after_loss
from headway.domain.states import Outcome, Role, RunState, TaskState
from headway.testing.data import seed

SET_BACK = (
    text("UPDATE task_attempt SET started_at = now() + interval '1 hour'"),
    text("UPDATE task_instance SET started_at = now() + interval '1 hour'"),
    text("UPDATE dag_run SET started_at = now() + interval '1 hour'"),
)
"""What there is after the clock was set back by an hour: starts that are yet to come."""

ENDED = text("""
    SELECT ended_at - started_at AS took FROM task_attempt WHERE ended_at IS NOT NULL
     UNION ALL
    SELECT ended_at - started_at FROM task_instance WHERE ended_at IS NOT NULL
     UNION ALL
    SELECT ended_at - started_at FROM dag_run WHERE ended_at IS NOT NULL
""")
CHANGE = Event(actor="user:test", action="run.change", dag_id="etl")
EXPIRE = text("UPDATE task_attempt SET claimed_until = now() - interval '1 hour'")


def report(engine: Engine) -> None:
    assert seed.report(engine, seed_running(engine))


def lose(engine: Engine) -> None:
    seed_running(engine)
    with engine.begin() as conn:
        conn.execute(EXPIRE)
        lost = lost_attempts.take_expired(conn, 0, 10)
        lost_attempts.end_lost(
            conn, [(attempt, after_loss(5, attempt.on_lost)) for attempt in lost]
        )


def mark(engine: Engine) -> None:
    keys = seed_running(engine)
    assert seed.report(engine, keys, Outcome.FAILED, seed.SUCCESS)
    ids = [key.task_instance_id for key in keys]
    with engine.begin() as conn:
        conn.execute(SET_BACK[1])
        events.add(conn, CHANGE)
        moves = Intervention(moves={TaskState.FAILED: ids})
        run_changes.write(conn, moves, Role.USER)


def settle(engine: Engine) -> None:
    run = seed.start_run(engine, seed.dag())
    set_back(engine)
    with engine.begin() as conn:
        runs.settle(conn, {run: (0, RunState.SUCCESS)}, conn.scalar(text("SELECT now()")))


def seed_running(engine: Engine) -> list[AttemptKey]:
    keys = seed.running(engine, seed.dag())
    set_back(engine)
    return keys


def set_back(engine: Engine) -> None:
    with engine.begin() as conn:
        for statement in SET_BACK:
            conn.execute(statement)


@pytest.mark.parametrize("end", [report, lose, mark, settle])
def test_nothing_ends_before_it_has_started(engine: Engine, end: Callable[[Engine], None]) -> None:
    end(engine)

    with engine.connect() as conn:
        took = [row.took.total_seconds() for row in conn.execute(ENDED) if row.took is not None]
    assert took
    assert min(took) >= 0
