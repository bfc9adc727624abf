"""The pass that settles runs: every change is looked at, by one scheduler at a time."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, TextClause, text

from headway.db import runs, tasks, wakes
from headway.db.processes import Identity
from headway.domain.retry import Next
from headway.domain.states import Outcome, RunState, TaskState
from headway.testing import seed
from headway.testing.interleaving import just_before
from headway_scheduler.passes.schedule_tasks import schedule_retries, schedule_tasks
from headway_scheduler.specs import Specs

CHAIN = seed.dag(seed.task("first"), seed.task("second", "first"))
FAILED = Next(TaskState.FAILED)


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine)


def settle(engine: Engine, me: Identity, limit: int = 20) -> int:
    return schedule_tasks(engine, me, Specs(), seed.START, limit)


def run_to_its_end(engine: Engine, me: Identity) -> None:
    while seed.run_states(engine)["running"]:
        assert settle(engine, me)
        with engine.connect() as conn:
            ready = conn.scalar(text("SELECT 1 FROM task_instance WHERE state = 'scheduled'"))
        if ready:
            seed.finish(engine)


def pending_wakes(engine: Engine) -> int:
    with engine.connect() as conn:
        return len(conn.execute(text("SELECT FROM wake")).all())


def test_a_run_is_taken_from_its_first_task_to_its_end(engine: Engine, me: Identity) -> None:
    seed.start_run(engine, CHAIN)

    assert settle(engine, me) == 1
    assert seed.task_states(engine) == {"first": "scheduled", "second": "none"}
    assert settle(engine, me) == 0

    seed.finish(engine)
    assert settle(engine, me) == 1
    assert seed.task_states(engine) == {"first": "success", "second": "scheduled"}
    assert seed.run_states(engine) == {"running": 1}

    seed.finish(engine)
    settle(engine, me)
    assert seed.run_states(engine) == {"success": 1}
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT ended_at FROM dag_run")) == seed.START
    assert settle(engine, me) == 0


def test_a_failure_ends_the_run_with_what_depends_on_it(engine: Engine, me: Identity) -> None:
    seed.start_run(engine, CHAIN)
    settle(engine, me)
    seed.finish(engine, Outcome.FAILED, FAILED)

    settle(engine, me)

    assert seed.task_states(engine) == {"first": "failed", "second": "upstream_failed"}
    assert seed.run_states(engine) == {"failed": 1}
    with engine.connect() as conn:
        ended = text("SELECT ended_at FROM task_instance WHERE task_id = 'second'")
        assert conn.scalar(ended) == seed.START


def test_a_run_without_tasks_ends_at_once(engine: Engine, me: Identity) -> None:
    seed.start_run(engine, replace(seed.dag(), tasks=()))

    settle(engine, me)

    assert seed.run_states(engine) == {"success": 1}


def test_a_report_while_the_run_is_being_settled_is_settled_next(
    engine: Engine, me: Identity
) -> None:
    """The report neither waits for the pass nor is its wake lost."""
    seed.start_run(engine, CHAIN)
    settle(engine, me)
    with engine.begin() as conn:
        wakes.add(conn, list(conn.scalars(text("SELECT id FROM dag_run"))))

    assert schedule_tasks(engine, me, Specs(), seed.START, 20, lambda: seed.finish(engine)) == 1
    assert seed.task_states(engine) == {"first": "success", "second": "none"}

    assert settle(engine, me) == 1
    assert seed.task_states(engine) == {"first": "success", "second": "scheduled"}


@pytest.mark.parametrize("statement", [wakes.TAKE, tasks.STANDINGS], ids=["take", "read"])
def test_a_report_between_lock_and_read_is_not_lost(
    engine: Engine, me: Identity, statement: TextClause
) -> None:
    seed.start_run(engine, CHAIN)
    settle(engine, me)
    with engine.begin() as conn:
        wakes.add(conn, list(conn.scalars(text("SELECT id FROM dag_run"))))

    with just_before(engine, statement, lambda: seed.finish(engine)):
        settle(engine, me)
    settle(engine, me)

    assert seed.task_states(engine) == {"first": "success", "second": "scheduled"}


def test_a_run_that_is_being_settled_is_skipped_by_the_other_scheduler(
    engine: Engine, me: Identity
) -> None:
    seed.start_run(engine, CHAIN)
    other = seed.register(engine)
    others: list[int] = []

    mine = schedule_tasks(
        engine, me, Specs(), seed.START, 20, lambda: others.append(settle(engine, other))
    )

    assert (mine, others) == (1, [0])


def test_two_schedulers_settle_different_runs_side_by_side(engine: Engine, me: Identity) -> None:
    version = seed.store(engine, CHAIN)
    ids = seed.create_runs(engine, version, [0, 1, 2])
    with engine.begin() as conn:
        runs.start(conn, ids, seed.START)
    other = seed.register(engine)
    others: list[int] = []

    mine = schedule_tasks(
        engine, me, Specs(), seed.START, 1, lambda: others.append(settle(engine, other))
    )

    assert (mine, others) == (1, [2])
    assert pending_wakes(engine) == 0
    for run_id in ids:
        assert seed.task_states(engine, run_id) == {"first": "scheduled", "second": "none"}


def test_a_pass_that_fails_leaves_everything_as_it_was(engine: Engine, me: Identity) -> None:
    seed.start_run(engine, CHAIN)

    def fail() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        schedule_tasks(engine, me, Specs(), seed.START, 20, fail)

    assert seed.task_states(engine) == {"first": "none", "second": "none"}
    assert settle(engine, me) == 1


def test_a_wake_of_a_run_that_is_over_changes_nothing(engine: Engine, me: Identity) -> None:
    run_id = seed.start_run(engine, CHAIN)
    run_to_its_end(engine, me)
    with engine.begin() as conn:
        wakes.add(conn, [run_id])

    settle(engine, me)

    assert seed.run_states(engine) == {"success": 1}
    assert pending_wakes(engine) == 0


def test_a_wake_of_a_run_that_waits_is_dropped_and_its_start_wakes_it(
    engine: Engine, me: Identity
) -> None:
    ids = seed.create_runs(engine, seed.store(engine, CHAIN), [0])
    with engine.begin() as conn:
        wakes.add(conn, ids)
    settle(engine, me)
    assert (pending_wakes(engine), seed.task_states(engine)) == (0, {})

    with engine.begin() as conn:
        runs.start(conn, ids, seed.START)
    settle(engine, me)

    assert seed.task_states(engine) == {"first": "scheduled", "second": "none"}


def test_a_version_that_cannot_be_read_does_not_stop_other_runs(
    engine: Engine, me: Identity
) -> None:
    seed.start_run(engine, seed.dag(dag_id="other"))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_version SET serialized = 'of another release'"))
    whole = seed.start_run(engine, CHAIN)

    settle(engine, me)

    assert seed.task_states(engine, whole) == {"first": "scheduled", "second": "none"}
    assert pending_wakes(engine) == 1, "the run is left to a scheduler that can read it"


def test_runs_that_cannot_be_read_do_not_fill_the_batch(engine: Engine, me: Identity) -> None:
    seed.start_run(engine, seed.dag(dag_id="other"))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_version SET serialized = 'of another release'"))
    whole = seed.start_run(engine, CHAIN)
    specs = Specs()

    settled = [schedule_tasks(engine, me, specs, seed.START, 1) for _ in range(3)]

    assert settled == [0, 1, 0]
    assert seed.task_states(engine, whole) == {"first": "scheduled", "second": "none"}


def test_nothing_is_moved_from_where_the_scheduler_may_not(engine: Engine) -> None:
    [key] = seed.running(engine, seed.dag())
    with engine.begin() as conn:
        tasks.move(conn, {TaskState.SCHEDULED: [key.task_instance_id]}, seed.START)

    assert seed.task_states(engine) == {"work": "running"}


def test_a_run_that_has_ended_stays_as_it_ended(engine: Engine) -> None:
    run_id = seed.start_run(engine, seed.dag())
    with engine.begin() as conn:
        runs.end(conn, [run_id], RunState.SUCCESS, seed.START)
        runs.end(conn, [run_id], RunState.FAILED, seed.START)

    assert seed.run_states(engine) == {"success": 1}


def test_retries_are_scheduled_when_they_are_due(engine: Engine, me: Identity) -> None:
    keys = seed.running(engine, seed.wide(3))
    for minutes, key in enumerate(keys):
        again = Next(TaskState.UP_FOR_RETRY, timedelta(minutes=minutes))
        seed.report(engine, [key], Outcome.FAILED, again)
    with engine.connect() as conn:
        now = conn.execute(text("SELECT max(retry_at) FROM task_instance")).scalar_one()

    assert schedule_retries(engine, me, now - timedelta(seconds=1), 1) == 1
    assert seed.task_states(engine)["t0"] == "scheduled"
    assert schedule_retries(engine, me, now - timedelta(seconds=1), 10) == 1
    assert schedule_retries(engine, me, now, 10) == 1
    assert schedule_retries(engine, me, now, 10) == 0
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(retry_at) FROM task_instance")) == 0


def test_two_schedulers_schedule_different_retries(engine: Engine, me: Identity) -> None:
    keys = seed.running(engine, seed.wide(3))
    again = Next(TaskState.UP_FOR_RETRY, timedelta(0))
    seed.report(engine, keys, Outcome.FAILED, again)
    later = seed.START + 100_000 * seed.DAY

    with engine.begin() as conn:
        assert tasks.schedule_retries(conn, later, 1) == 1
        assert schedule_retries(engine, me, later, 10) == 2
