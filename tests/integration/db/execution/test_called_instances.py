"""The task instances that callbacks are about, as their worker is told of them."""

from dataclasses import replace

from sqlalchemy import Engine, text

from headway.db.core.processes import Identity
from headway.db.execution import callback_claims
from headway.db.execution.called_instances import EndedInstance
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DEFAULT_QUEUE
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway.testing.data.callbacks import report

FAILED = Next(TaskState.FAILED)
ENTER = text("""
    INSERT INTO callback (dag_run_id, event, reason) SELECT id, :event, 'x' FROM dag_run
""")


def claimed(engine: Engine, me: Identity) -> dict[str | None, EndedInstance | None]:
    with engine.begin() as conn:
        found = callback_claims.claim(conn, me, [DEFAULT_QUEUE], 10, 30)
    return {its.task_id: its.instance for its in found}


def enter(engine: Engine, event: CallbackEvent) -> None:
    with engine.begin() as conn:
        conn.execute(ENTER, {"event": str(event)})


def test_of_a_task_it_is_its_attempt(engine: Engine) -> None:
    [key] = seed.running(engine, seed.dag())
    report(engine, key)
    worker = seed.register(engine, "worker")

    [its] = claimed(engine, worker).values()

    assert its is not None
    assert (its.task_id, its.map_index, its.attempt) == ("work", -1, 1)
    assert its.started_at is not None
    assert its.ended_at is not None
    assert its.ended_at >= its.started_at
    assert its.hostname


def test_of_a_failed_run_it_is_the_task_that_failed_last(engine: Engine) -> None:
    tasks = [seed.task(name) for name in ("first", "second", "third")]
    first, second, third = seed.running(engine, replace(seed.dag(), tasks=tuple(tasks)))
    for key in (first, second):
        report(engine, key, Outcome.FAILED, FAILED, ())
    report(engine, third, events=())
    enter(engine, CallbackEvent.FAILURE)
    enter(engine, CallbackEvent.SUCCESS)

    with engine.begin() as conn:
        worker = seed.register(engine, "worker")
        failure, success = callback_claims.claim(conn, worker, [DEFAULT_QUEUE], 10, 30)

    assert failure.instance is not None
    assert success.instance is not None
    assert (failure.instance.task_id, failure.instance.state) == ("second", "failed")
    assert (success.instance.task_id, success.instance.state) == ("third", "success")


def test_of_a_run_of_which_nothing_has_begun_there_is_none(engine: Engine) -> None:
    seed.queued(engine, seed.dag())
    enter(engine, CallbackEvent.FAILURE)

    assert claimed(engine, seed.register(engine, "worker")) == {None: None}
