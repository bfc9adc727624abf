"""What schedulers measure in the database, and when tasks are noted as scheduled."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine, text

from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.db.scheduling import tasks
from headway.domain.dag.retry import Next
from headway.domain.states import Outcome, TaskState
from headway.metrics import database, scheduler
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.database import logins
from headway.testing.metrics.metrics import value
from headway.testing.time.clock import FakeClock
from headway_scheduler.jobs.table_metrics import (
    OF_TABLES,
    Measurement,
    Measuring,
    all_of,
    measure_server,
)
from headway_scheduler.passes.revoke import revoke
from headway_scheduler.replica.replica import Replica

SILENCE = text("UPDATE process_beat SET beat_at = now() - interval '1 hour' WHERE process_id = :id")
GIVEN = read(SchedulerSettings, http_port=9090)
LATER = seed.START + timedelta(days=9)


def measure(engine: Engine) -> None:
    for each in all_of(GIVEN):
        with engine.begin() as conn:
            each.measure(conn)


def scheduled_at(engine: Engine, task: int) -> datetime | None:
    with engine.connect() as conn:
        found: datetime | None = conn.scalar(
            text("SELECT scheduled_at FROM task_instance WHERE id = :id"), {"id": task}
        )
    return found


def test_pools_are_measured(engine: Engine) -> None:
    seed.make_pool(engine, "small", 3)
    seed.queued(engine, seed.in_pool(seed.wide(3), "small"))
    seed.scheduled(engine, seed.in_pool(seed.wide(2, "other"), "small"))

    measure(engine)

    slots = {"total": 3, "queued": 3, "free": 0, "running": 0, "scheduled": 2, "deferred": 0}
    assert {slot: value(scheduler.POOL_SLOTS, "small", slot) for slot in slots} == slots
    assert value(scheduler.POOL_STARVING, "small") == 2
    assert value(scheduler.POOL_STARVING, "default_pool") == 0
    assert value(scheduler.QUEUE_DEPTH, "small") == 2
    assert value(scheduler.QUEUE_DEPTH, "default_pool") == 0
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET scheduled_at = now() - interval '1 hour'"))
    measure(engine)
    assert value(scheduler.OLDEST_ADMISSIBLE, "small") == pytest.approx(3600, abs=60)
    assert value(scheduler.OLDEST_ADMISSIBLE, "default_pool") == 0


def test_queues_and_services_are_measured(engine: Engine) -> None:
    seed.queued(engine, seed.wide(3))
    seed.register(engine, "worker")
    silent = seed.register(engine, "parser")
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_attempt SET queued_at = now() - interval '1 hour'"))
        conn.execute(
            text(
                "UPDATE process_beat SET beat_at = now() - interval '1 hour' WHERE process_id = :id"
            ),
            {"id": silent.id},
        )

    measure(engine)

    assert value(scheduler.UNCLAIMED, "default") == 3
    assert value(scheduler.OLDEST_UNCLAIMED, "default") == pytest.approx(3600, abs=60)
    assert value(scheduler.PROCESSES, "worker") == 1
    assert value(scheduler.PROCESSES, "parser") == 0


def test_states_are_those_of_runs_that_have_not_ended(engine: Engine) -> None:
    seed.scheduled(engine, seed.wide(3))
    version = seed.store(engine, seed.dag(seed.task("a"), dag_id="waiting"))
    seed.create_runs(engine, version, [1, 2])

    measure(engine)

    assert value(scheduler.DAG_RUNS, "queued") == 2
    assert value(scheduler.DAG_RUNS, "running") == 1
    assert value(scheduler.TASK_INSTANCES, "scheduled") == 3
    assert value(scheduler.TASK_INSTANCES, "running") == 0


def test_a_scheduler_sees_how_old_the_transactions_of_others_are(
    engine: Engine, database_url: str
) -> None:
    """Though its role may not see their sessions."""
    login = engines.connect(logins.address(database_url, Login.SCHEDULER), name="test")
    with engine.begin() as open_one, login.begin() as conn:
        open_one.execute(text("SELECT 1"))
        open_one.execute(text("SELECT pg_sleep(0.05)"))
        measure_server(conn)
    login.dispose()

    oldest = value(database.OLDEST_TRANSACTION)
    assert oldest is not None
    assert 0.05 <= oldest < 600
    assert value(database.TABLE_BYTES, "task_instance")


def test_a_task_is_noted_as_scheduled_each_time_that_it_is(engine: Engine) -> None:
    [first] = seed.queued(engine, seed.wide(1))
    assert scheduled_at(engine, first) is not None

    again = Next(TaskState.UP_FOR_RETRY, timedelta())
    seed.report(
        engine, [seed.claim(engine, seed.register(engine, "worker"))[0].key], Outcome.FAILED, again
    )
    with engine.begin() as conn:
        now = conn.scalar(text("SELECT now() + interval '1 hour'"))
        assert tasks.schedule_retries(conn, now, 10, 0.0) == 1

    assert scheduled_at(engine, first) == now


def test_a_task_that_is_taken_back_from_a_queue_is_noted_as_scheduled(engine: Engine) -> None:
    [task] = seed.queued(engine, seed.wide(1))
    replica = Replica(engine, seed.register(engine), read(SchedulerSettings))
    with engine.connect() as conn:
        now = conn.scalar(text("SELECT now() + interval '1 year'"))
    assert now is not None

    assert revoke(replica, now) == 1

    assert scheduled_at(engine, task) == now


def test_how_long_a_task_has_waited_comes_with_its_claim(engine: Engine) -> None:
    seed.queued(engine, seed.wide(1))
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET scheduled_at = now() - interval '2 hours'"))
        conn.execute(text("UPDATE task_attempt SET queued_at = now() - interval '1 hour'"))

    [claimed] = seed.claim(engine, seed.register(engine, "worker"))

    queued, scheduled = claimed.waited
    assert scheduled is not None
    assert timedelta(hours=1) <= queued < timedelta(hours=1.5)
    assert timedelta(hours=2) <= scheduled < timedelta(hours=2.5)


def measuring(engine: Engine, clock: FakeClock, call: Callable[[Connection], None]) -> Measuring:
    return Measuring(engine, clock, [Measurement("tables", 30.0, call, OF_TABLES)])


def test_what_takes_long_is_measured_seldom(engine: Engine) -> None:
    clock, seconds = FakeClock(), [1.0, 4.0, 20.0]
    its = measuring(engine, clock, lambda _conn: clock.advance(seconds.pop(0)))

    assert its.step() == 29.0
    assert its.step() == 29.0
    clock.advance(29.0)
    assert its.step() == 40.0
    clock.advance(40.0)
    assert its.step() == 60.0
    assert value(scheduler.MEASURING_SECONDS, "tables") == 20.0
    assert value(scheduler.MEASURED_AT, "tables") == clock.now().timestamp()


def test_a_measurement_that_fails_is_tried_again_later(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    def late(conn: Connection) -> None:
        conn.execute(text("SET LOCAL statement_timeout = '1ms'"))
        conn.execute(text("SELECT pg_sleep(1)"))

    its = measuring(engine, FakeClock(), late)

    assert its.step() == 30.0
    assert "subject=tables failed: canceling statement due to statement timeout" in caplog.text


def test_what_could_not_be_measured_is_not_shown(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """The values of a scheduler that reaches the database count, and the thread goes on."""

    def wrong(conn: Connection) -> None:
        conn.execute(text("SELECT nothing"))

    scheduler.DAG_RUNS.set(1, "running")

    assert measuring(engine, FakeClock(), wrong).step() == 30.0
    assert "subject=tables failed" in caplog.text
    assert scheduler.DAG_RUNS.series() == []
