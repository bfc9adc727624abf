"""The pass that ends runs past their deadline, whatever happens to their tasks meanwhile."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from headway.actions.change import Author
from headway.actions.runs.cancel import cancel_run
from headway.db.changes import run_changes
from headway.db.scheduling import demand, queued_runs, scope
from headway.domain.dag.retry import Next
from headway.domain.errors import FencedError
from headway.domain.states import Outcome, TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.database.interleaving import just_before, waiting
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.time_out import time_out
from headway_scheduler.replica.replica import Replica

HOUR = 3600.0
LATE = seed.START + timedelta(hours=2)
SPEC = replace(seed.dag(*map(seed.task, "abcd")), dagrun_timeout=HOUR)


@pytest.fixture
def replica(engine: Engine) -> Replica:
    return Replica(engine, seed.register(engine), read(SchedulerSettings))


def test_a_run_that_takes_too_long_fails_when_what_runs_has_stopped(
    engine: Engine, replica: Replica
) -> None:
    run = seed.start_run(engine, SPEC)
    key = force(engine, run, a="running", b="up_for_retry", c="success", d="queued")["a"]

    assert time_out(replica, LATE) == 1
    schedule_tasks(replica, LATE)

    assert seed.task_states(engine) == {
        "a": "running",
        "b": "skipped",
        "c": "success",
        "d": "skipped",
    }
    assert seed.run_states(engine) == {"running": 1}
    seed.report(engine, [key], Outcome.CANCELLED, Next(TaskState.FAILED))
    schedule_tasks(replica, LATE)
    assert seed.task_states(engine)["a"] == "skipped"
    assert seed.run_states(engine) == {"failed": 1}
    with engine.connect() as conn:
        event = conn.execute(text("SELECT actor, action, dag_id, run_id, details FROM event")).one()
    assert event == (
        *(f"scheduler:{replica.me.id}", "run.time_out", "etl"),
        *(f"scheduled__{seed.START.isoformat()}", {"stopped": 1}),
    )


def test_a_run_is_timed_out_once(engine: Engine, replica: Replica) -> None:
    seed.start_run(engine, SPEC)

    assert [time_out(replica, LATE), time_out(replica, LATE)] == [1, 0]
    with engine.connect() as conn:
        assert not demand.look(conn, LATE).overdue


def test_a_run_within_its_time_goes_on(engine: Engine, replica: Replica) -> None:
    seed.start_run(engine, SPEC)

    assert time_out(replica, seed.START + timedelta(seconds=HOUR - 1)) == 0
    assert time_out(replica, seed.START + timedelta(seconds=HOUR)) == 1


def test_a_run_without_a_timeout_goes_on(engine: Engine, replica: Replica) -> None:
    seed.start_run(engine, seed.dag())

    assert time_out(replica, LATE + 1000 * seed.DAY) == 0


def test_a_run_that_was_cancelled_is_not_timed_out_too(engine: Engine, replica: Replica) -> None:
    run = seed.start_run(engine, SPEC)
    key = force(engine, run, a="running")["a"]
    name = f"scheduled__{seed.START.isoformat()}"
    with engine.begin() as conn:
        cancel_run(conn, "etl", name, Author("user:ann"))

    assert time_out(replica, LATE) == 0
    seed.report(engine, [key], Outcome.CANCELLED, Next(TaskState.FAILED))
    assert seed.task_states(engine)["a"] == "failed"


def test_a_success_that_comes_in_between_stays_one(engine: Engine, replica: Replica) -> None:
    """Hole 3 of Airflow: it reads the tasks, and then overwrites what was committed since."""
    run = seed.start_run(engine, SPEC)
    key = force(engine, run, a="running")["a"]

    with just_before(engine, run_changes.LOCK_TASKS, lambda: seed.report(engine, [key])):
        time_out(replica, LATE)
    schedule_tasks(replica, LATE)

    assert seed.task_states(engine)["a"] == "success"
    assert seed.run_states(engine) == {"failed": 1}


def test_a_success_that_comes_just_after_does_not_count(engine: Engine, replica: Replica) -> None:
    """The report waits for the pass, and then finds that its attempt was told to stop."""
    run = seed.start_run(engine, SPEC)
    key = force(engine, run, a="running")["a"]

    with waiting(engine, lambda: seed.report(engine, [key])) as begin:
        assert time_out(replica, LATE, before_commit=begin) == 1

    assert seed.task_states(engine)["a"] == "skipped"


def test_a_run_that_another_transaction_has_is_left_for_later(
    engine: Engine, replica: Replica
) -> None:
    run = seed.start_run(engine, SPEC)
    others: list[int] = []

    mine = time_out(replica, LATE, lambda: others.append(time_out(replica, LATE)))

    assert (mine, others) == (1, [0])
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM event")) == 1
        assert conn.scalar(text("SELECT count(*) FROM wake WHERE dag_run_id = :run"), {"run": run})


def test_a_pass_that_fails_has_ended_nothing(engine: Engine, replica: Replica) -> None:
    run = seed.start_run(engine, SPEC)
    force(engine, run, a="running")

    def fail() -> None:
        raise NoConnectionLeft

    with pytest.raises(NoConnectionLeft):
        time_out(replica, LATE, fail)

    assert seed.task_states(engine)["b"] == "scheduled"
    assert time_out(replica, LATE) == 1


def test_a_scheduler_that_is_dead_times_nothing_out(engine: Engine, replica: Replica) -> None:
    seed.start_run(engine, SPEC)
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET epoch = epoch + 1, ended_at = now()"))

    with pytest.raises(FencedError):
        time_out(replica, LATE)


def test_a_pass_takes_as_many_runs_as_it_may(engine: Engine) -> None:
    version = seed.store(engine, replace(SPEC, max_active_runs=9))
    seed.create_runs(engine, version, range(3))
    settings = read(SchedulerSettings, max_dagruns_per_loop_to_schedule=2)
    replica = Replica(engine, seed.register(engine), settings)
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE dag_run SET state = 'running', started_at = :now, deadline = :now"),
            {"now": seed.START},
        )

    assert [time_out(replica, LATE) for _ in range(3)] == [2, 1, 0]


def test_a_run_that_another_job_has_reserved_is_left_to_it(engine: Engine) -> None:
    run = seed.start_run(engine, SPEC)
    settings = read(SchedulerSettings)
    scheduler, backfill = (
        Replica(engine, seed.register(engine), settings, own_alone=alone) for alone in (False, True)
    )
    assert time_out(backfill, LATE) == 0
    with engine.begin() as conn:
        assert scope.lock(conn, [run], backfill.me.id) == [run]

    assert time_out(scheduler, LATE) == 0
    assert time_out(backfill, LATE) == 1


def test_a_run_that_cannot_be_ended_does_not_stop_the_others(engine: Engine) -> None:
    """Each is taken by itself, what fails alone is set aside, and the journal says so."""
    version = seed.store(engine, replace(SPEC, max_active_runs=9))
    bad, good = seed.create_runs(engine, version, [0, 1])
    with engine.begin() as conn:
        queued_runs.start(conn, [bad, good], seed.START, seed.AGING)
        conn.execute(
            text(
                "ALTER TABLE dag_run ADD CONSTRAINT bad CHECK (id <> 1 OR end_as IS NULL) NOT VALID"
            )
        )
    replica = Replica(engine, seed.register(engine), read(SchedulerSettings))

    assert [time_out(replica, LATE), time_out(replica, LATE)] == [1, 0]
    with engine.connect() as conn:
        ending = text("SELECT id, end_as FROM dag_run ORDER BY id")
        assert [tuple(row) for row in conn.execute(ending)] == [(bad, None), (good, "failed")]
        actions = text("SELECT action FROM event ORDER BY id")
        assert sorted(conn.scalars(actions)) == ["run.quarantine", "run.time_out"]
