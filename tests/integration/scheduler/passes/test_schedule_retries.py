"""The pass that schedules retries: each once, when it is due, with a new queue position."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine, text

from headway.db.core import processes
from headway.db.scheduling import tasks
from headway.domain.dag.retry import Next
from headway.domain.errors import FencedError
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway_scheduler.passes.schedule_tasks import schedule_retries
from headway_scheduler.replica.replica import Replica

LATER = seed.START + 100_000 * seed.DAY


def fail(engine: Engine, count: int, apart: timedelta = timedelta(0)) -> datetime:
    """Let so many tasks fail that are tried again, one after the other; return when the last is."""
    for number, key in enumerate(seed.running(engine, seed.wide(count))):
        again = Next(TaskState.UP_FOR_RETRY, number * apart)
        seed.report(engine, [key], Outcome.FAILED, again)
    with engine.connect() as conn:
        last: datetime = conn.execute(text("SELECT max(retry_at) FROM task_instance")).scalar_one()
    return last


def test_retries_are_scheduled_when_they_are_due(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    last = fail(engine, 3, timedelta(minutes=1))
    before = last - timedelta(seconds=1)

    assert schedule_retries(new_replica(max_tis_per_query=1), before) == 1
    assert seed.task_states(engine)["t0"] == "scheduled"
    assert [schedule_retries(replica, now) for now in (before, last, last)] == [1, 1, 0]
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(retry_at) FROM task_instance")) == 0


def test_a_retry_gets_a_new_place_in_the_line(engine: Engine, replica: Replica) -> None:
    fail(engine, 1)

    schedule_retries(replica, LATER)

    with engine.connect() as conn:
        rank = conn.scalar(text("SELECT rank FROM task_instance"))
    assert rank == LATER.timestamp() - seed.AGING


def test_two_schedulers_schedule_different_retries(engine: Engine, replica: Replica) -> None:
    fail(engine, 3)

    with engine.begin() as conn:
        assert tasks.schedule_retries(conn, LATER, 1, seed.AGING) == 1
        assert schedule_retries(replica, LATER) == 2


def test_a_process_that_was_declared_dead_schedules_none(engine: Engine, replica: Replica) -> None:
    fail(engine, 1)
    with engine.begin() as conn:
        processes.leave(conn, replica.me)

    with pytest.raises(FencedError):
        schedule_retries(replica, LATER)
    assert seed.task_states(engine) == {"t0": "up_for_retry"}


def test_a_retry_is_no_fact_to_be_settled(engine: Engine, replica: Replica) -> None:
    fail(engine, 1)

    schedule_retries(replica, LATER)

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM wake")) == 0
