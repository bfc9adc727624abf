"""A scheduler that was declared dead writes nothing, whatever pass it is in."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from headway.db.core import processes, run_deadlines
from headway.db.execution import attempts
from headway.db.execution.attempts import Report
from headway.decide.scheduling.expire import BEGINNING
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.deadline import DeadlineSpec
from headway.domain.dag.notifiers import NotifierSpec, NotifyEvent
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DEFAULT_POOL
from headway.domain.errors import FencedError
from headway.domain.retention import RetainedKind
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway.testing.data.run_requests import ask
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.answer_requests import answer_requests
from headway_scheduler.passes.clean import clean
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.expire import expire
from headway_scheduler.passes.expire_state import expire_state
from headway_scheduler.passes.gather_notifications import gather_notifications
from headway_scheduler.passes.judge_deadlines import judge_deadlines
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.revoke import revoke
from headway_scheduler.passes.schedule_tasks import schedule_retries, schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.passes.time_out import time_out
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 2 * seed.DAY
OLD = text("UPDATE process_beat SET beat_at = now() - interval '1 hour'")

PASSES: dict[str, Callable[..., object]] = {
    "create_runs": lambda replica, *seam: create_runs(replica, NOW, *seam),
    "start_runs": lambda replica, *seam: start_runs(replica, NOW, *seam),
    "schedule_tasks": lambda replica, *seam: schedule_tasks(replica, NOW, *seam),
    "queue_tasks": lambda replica, *seam: queue_tasks(replica, DEFAULT_POOL, NOW, *seam),
    "time_out": lambda replica, *seam: time_out(replica, NOW, *seam),
    "revoke": lambda replica, *seam: revoke(replica, NOW, *seam),
    "adopt": adopt,
    "schedule_retries": lambda replica: schedule_retries(replica, NOW),
    "clean": clean,
    "expire_state": expire_state,
    "judge_deadlines": lambda replica, *seam: judge_deadlines(replica, NOW, *seam),
    "gather_notifications": gather_notifications,
    "answer_requests": lambda replica, *seam: answer_requests(replica, NOW, *seam),
    "expire": lambda replica, *seam: expire(replica, RetainedKind.RUNS, 0, BEGINNING, *seam),
}
WITHOUT_SEAM = {"schedule_retries", "clean", "expire_state"}
LOOK_FIRST = {"judge_deadlines", "gather_notifications"}
"""Passes that are not confirmed if there is nothing to do."""

WITH_SEAM = sorted(PASSES.keys() - WITHOUT_SEAM - LOOK_FIRST)


@pytest.fixture(autouse=True)
def much_to_do(engine: Engine) -> None:
    """Something for each pass."""
    [key] = seed.running(engine, seed.dag(dag_id="asks"))
    ask(engine, key, dag_id="due")
    fail_with_notifier(engine)
    seed.store(engine, seed.dag(dag_id="due"))
    seed.create_runs(engine, seed.store(engine, seed.dag(dag_id="waits")), [0])
    overdue = replace(seed.dag(seed.task("a"), seed.task("b", "a")), dagrun_timeout=60.0)
    seed.start_run(engine, overdue)
    seed.finish(engine)
    seed.scheduled(engine, seed.dag(dag_id="ready"))
    seed.queued(engine, seed.dag(dag_id="stale"))
    enter_deadline(engine)


def enter_deadline(engine: Engine) -> None:
    """Enter a deadline that is over by now."""
    spec = replace(seed.dag(dag_id="late"), deadlines=(DeadlineSpec(seconds=60.0),))
    ids = seed.create_runs(engine, seed.store(engine, spec), [0])
    with engine.begin() as conn:
        run_deadlines.enter(conn, ids)


def fail_with_notifier(engine: Engine) -> None:
    """Let a task fail whose notifier tells of failures."""
    ops = NotifierSpec(connection="ops", on=(NotifyEvent.FAILURE,))
    task = replace(seed.task("work"), notifiers=(ops,))
    [key] = seed.running(engine, seed.dag(task, dag_id="fails"))
    failed = Report(
        key=key,
        outcome=Outcome.FAILED,
        following=Next(TaskState.FAILED),
        error="x",
        notifies=tuple(CallbackEvent),
    )
    with engine.begin() as conn:
        attempts.report(conn, [failed])


def written(engine: Engine) -> list[tuple[object, ...]]:
    """Return which rows have been written by which transactions."""
    rows = text("""
        SELECT 'run', id, CAST(xmin AS text) FROM dag_run
         UNION ALL SELECT 'task', id, CAST(xmin AS text) FROM task_instance
         UNION ALL SELECT 'attempt', task_instance_id, CAST(xmin AS text) FROM task_attempt
         UNION ALL SELECT 'wake', dag_run_id, CAST(xmin AS text) FROM wake
         UNION ALL SELECT dag_id, 0, CAST(xmin AS text) FROM dag
         ORDER BY 1, 2, 3
    """)
    with engine.connect() as conn:
        return [tuple(row) for row in conn.execute(rows)]


def declare_dead(engine: Engine) -> list[int]:
    """Do what another scheduler does to those whose heartbeats are late; return who they are."""
    with engine.begin() as conn:
        conn.execute(OLD)
        return [process.id for process in processes.end_dead(conn, 0.001, 100)]


@pytest.mark.parametrize("name", PASSES)
def test_who_was_declared_dead_does_nothing(engine: Engine, replica: Replica, name: str) -> None:
    declare_dead(engine)
    before = written(engine)

    with pytest.raises(FencedError):
        PASSES[name](replica)

    assert written(engine) == before


@pytest.mark.parametrize("name", WITH_SEAM)
def test_nobody_is_declared_dead_in_the_middle_of_a_pass(
    engine: Engine, replica: Replica, name: str
) -> None:
    """Who would do it passes it over until it has committed; the next pass is refused then."""
    dead: list[int] = []

    PASSES[name](replica, lambda: dead.extend(declare_dead(engine)))

    assert dead, "the workers"
    assert replica.me.id not in dead
    assert declare_dead(engine) == [replica.me.id]
    with pytest.raises(FencedError):
        PASSES[name](replica)
