"""The pass that settles runs and schedules retries: each change once, by one scheduler."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine, text

from headway.db.core import processes
from headway.db.scheduling import queued_runs, runs, tasks, wakes
from headway.domain.dag.retry import Next
from headway.domain.errors import FencedError
from headway.domain.states import Outcome, RunState, TaskState
from headway.testing.data import seed
from headway_scheduler.passes.schedule_tasks import schedule_retries, schedule_tasks
from headway_scheduler.replica.replica import Replica

CHAIN = seed.dag(seed.task("first"), seed.task("second", "first"))
FAILED = Next(TaskState.FAILED)
LATER = seed.START + 100_000 * seed.DAY


def settle(replica: Replica) -> int:
    return schedule_tasks(replica, seed.START).runs


def look_again(engine: Engine) -> None:
    """Ask for every run to be looked at as a whole."""
    with engine.begin() as conn:
        wakes.add(conn, list(conn.scalars(text("SELECT id FROM dag_run"))))


def run_to_its_end(engine: Engine, replica: Replica) -> None:
    while seed.run_states(engine)["running"]:
        seed.finish(engine)
        assert settle(replica)


def pending_wakes(engine: Engine) -> int:
    with engine.connect() as conn:
        return len(conn.execute(text("SELECT FROM wake")).all())


def fail_tasks(engine: Engine, count: int, apart: timedelta = timedelta(0)) -> datetime:
    """Let so many tasks fail that are tried again, one after the other; return when the last is."""
    for number, key in enumerate(seed.running(engine, seed.wide(count))):
        again = Next(TaskState.UP_FOR_RETRY, number * apart)
        seed.report(engine, [key], Outcome.FAILED, again)
    with engine.connect() as conn:
        last: datetime = conn.execute(text("SELECT max(retry_at) FROM task_instance")).scalar_one()
    return last


def test_a_run_is_taken_from_its_first_task_to_its_end(engine: Engine, replica: Replica) -> None:
    seed.start_run(engine, CHAIN)

    assert seed.task_states(engine) == {"first": "scheduled", "second": "none"}
    assert settle(replica) == 0

    seed.finish(engine)
    assert settle(replica) == 1
    assert seed.task_states(engine) == {"first": "success", "second": "scheduled"}
    assert seed.run_states(engine) == {"running": 1}

    seed.finish(engine)
    settle(replica)
    assert seed.run_states(engine) == {"success": 1}
    assert settle(replica) == 0


def test_a_run_ends_no_earlier_than_its_tasks(engine: Engine, replica: Replica) -> None:
    """The last task may end after the scheduler has read the clock."""
    seed.start_run(engine, CHAIN)
    seed.finish(engine)
    settle(replica)
    seed.finish(engine)

    settle(replica)

    with engine.connect() as conn:
        last = conn.scalar(text("SELECT max(ended_at) FROM task_instance"))
        assert last > seed.START
        assert conn.scalar(text("SELECT ended_at FROM dag_run")) == last


def test_a_failure_ends_the_run_with_what_depends_on_it(engine: Engine, replica: Replica) -> None:
    seed.start_run(engine, CHAIN)
    seed.finish(engine, Outcome.FAILED, FAILED)

    settle(replica)

    assert seed.task_states(engine) == {"first": "failed", "second": "upstream_failed"}
    assert seed.run_states(engine) == {"failed": 1}
    with engine.connect() as conn:
        ended = text("SELECT ended_at FROM task_instance WHERE task_id = 'second'")
        assert conn.scalar(ended) == seed.START


def test_a_run_without_tasks_ends_at_once(engine: Engine, replica: Replica) -> None:
    seed.start_run(engine, replace(seed.dag(), tasks=()))

    settle(replica)

    assert seed.run_states(engine) == {"success": 1}


def test_a_report_while_the_run_is_being_settled_is_settled_next(
    engine: Engine, replica: Replica
) -> None:
    """The report neither waits for the pass nor is its wake lost."""
    seed.start_run(engine, CHAIN)
    look_again(engine)

    assert schedule_tasks(replica, seed.START, lambda: seed.finish(engine)).runs == 1
    assert seed.task_states(engine) == {"first": "success", "second": "none"}

    assert settle(replica) == 1
    assert seed.task_states(engine) == {"first": "success", "second": "scheduled"}


def test_a_run_that_is_being_settled_is_skipped_by_the_other_scheduler(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    seed.start_run(engine, CHAIN)
    look_again(engine)
    other = new_replica()
    others: list[int] = []

    mine = schedule_tasks(replica, seed.START, lambda: others.append(settle(other))).runs

    assert (mine, others) == (1, [0])


def test_two_schedulers_settle_different_runs_side_by_side(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    version = seed.store(engine, CHAIN)
    ids = seed.create_runs(engine, version, [0, 1, 2])
    with engine.begin() as conn:
        queued_runs.start(conn, ids, seed.START, seed.AGING)
    seed.finish(engine)
    one_at_a_time, other = new_replica(max_dagruns_per_loop_to_schedule=1), new_replica()
    others: list[int] = []

    mine = schedule_tasks(one_at_a_time, seed.START, lambda: others.append(settle(other))).runs

    assert (mine, others) == (1, [2])
    assert pending_wakes(engine) == 0
    for run_id in ids:
        assert seed.task_states(engine, run_id) == {"first": "success", "second": "scheduled"}


def test_a_pass_that_fails_leaves_everything_as_it_was(engine: Engine, replica: Replica) -> None:
    seed.start_run(engine, CHAIN)
    seed.finish(engine)

    def fail() -> None:
        raise FencedError("declared dead")

    with pytest.raises(FencedError):
        schedule_tasks(replica, seed.START, fail)

    assert seed.task_states(engine) == {"first": "success", "second": "none"}
    assert settle(replica) == 1


def test_a_wake_of_a_run_that_is_over_changes_nothing(engine: Engine, replica: Replica) -> None:
    run_id = seed.start_run(engine, CHAIN)
    run_to_its_end(engine, replica)
    with engine.begin() as conn:
        wakes.add(conn, [run_id])

    assert settle(replica) == 0

    assert seed.run_states(engine) == {"success": 1}
    assert pending_wakes(engine) == 0


def test_a_wake_of_a_run_that_waits_is_dropped_and_its_start_wakes_it(
    engine: Engine, replica: Replica
) -> None:
    ids = seed.create_runs(engine, seed.store(engine, CHAIN), [0])
    with engine.begin() as conn:
        wakes.add(conn, ids)
    assert settle(replica) == 0
    assert (pending_wakes(engine), seed.task_states(engine)) == (0, {})

    with engine.begin() as conn:
        queued_runs.start(conn, ids, seed.START, seed.AGING)
    settle(replica)

    assert seed.task_states(engine) == {"first": "scheduled", "second": "none"}


def test_a_version_that_cannot_be_read_does_not_stop_other_runs(
    engine: Engine, replica: Replica
) -> None:
    seed.start_run(engine, seed.dag(dag_id="other"))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_version SET serialized = 'of another release'"))
    whole = seed.start_run(engine, CHAIN)
    seed.finish(engine)

    settle(replica)

    assert seed.task_states(engine, whole) == {"first": "success", "second": "scheduled"}
    assert pending_wakes(engine) == 1, "the run is left to a scheduler that can read it"


def test_runs_that_cannot_be_read_do_not_fill_the_batch(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    seed.start_run(engine, seed.dag(dag_id="other"))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_version SET serialized = 'of another release'"))
    whole = seed.start_run(engine, CHAIN)
    seed.finish(engine)
    one_at_a_time = new_replica(max_dagruns_per_loop_to_schedule=1)

    assert [settle(one_at_a_time) for _ in range(3)] == [0, 1, 0]
    assert seed.task_states(engine, whole) == {"first": "success", "second": "scheduled"}


def test_nothing_is_moved_from_where_the_scheduler_may_not(engine: Engine) -> None:
    [key] = seed.running(engine, seed.dag())
    with engine.begin() as conn:
        tasks.decide(conn, {TaskState.SCHEDULED: [key.task_instance_id]}, seed.START, seed.AGING)

    assert seed.task_states(engine) == {"work": "running"}


def test_a_run_that_has_ended_stays_as_it_ended(engine: Engine) -> None:
    run_id = seed.start_run(engine, seed.dag())
    with engine.begin() as conn:
        runs.settle(conn, {run_id: (0, RunState.SUCCESS)}, seed.START)
        runs.settle(conn, {run_id: (0, RunState.FAILED)}, seed.START)

    assert seed.run_states(engine) == {"success": 1}


def test_retries_are_scheduled_when_they_are_due(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    last = fail_tasks(engine, 3, timedelta(minutes=1))
    before = last - timedelta(seconds=1)

    assert schedule_retries(new_replica(max_tis_per_query=1), before) == 1
    assert seed.task_states(engine)["t0"] == "scheduled"
    assert [schedule_retries(replica, now) for now in (before, last, last)] == [1, 1, 0]
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(retry_at) FROM task_instance")) == 0


def test_a_retry_gets_a_new_queue_position(engine: Engine, replica: Replica) -> None:
    fail_tasks(engine, 1)

    schedule_retries(replica, LATER)

    with engine.connect() as conn:
        rank = conn.scalar(text("SELECT rank FROM task_instance"))
    assert rank == LATER.timestamp() - seed.AGING


def test_two_schedulers_schedule_different_retries(engine: Engine, replica: Replica) -> None:
    fail_tasks(engine, 3)

    with engine.begin() as conn:
        assert tasks.schedule_retries(conn, LATER, 1, seed.AGING) == 1
        assert schedule_retries(replica, LATER) == 2


def test_a_process_that_was_declared_dead_schedules_none(engine: Engine, replica: Replica) -> None:
    fail_tasks(engine, 1)
    with engine.begin() as conn:
        processes.leave(conn, replica.me)

    with pytest.raises(FencedError):
        schedule_retries(replica, LATER)
    assert seed.task_states(engine) == {"t0": "up_for_retry"}


def test_a_retry_is_no_fact_to_be_settled(engine: Engine, replica: Replica) -> None:
    fail_tasks(engine, 1)

    schedule_retries(replica, LATER)

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM wake")) == 0
