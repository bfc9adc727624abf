"""Backfills in the queue order: a task of no backfill never waits behind a backfill's."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.db.core import processes
from headway.db.execution import attempts
from headway.db.scheduling import queued_runs, runs, tasks
from headway.db.users import backfill_plans
from headway.db.users.backfill_plans import NewBackfill
from headway.decide.changes.backfill import Way
from headway.decide.scheduling.admit import READ_AHEAD, Limit
from headway.domain.backfill import Reprocess
from headway.domain.dag.spec import DEFAULT_QUEUE, DagSpec
from headway.domain.states import RunState
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

POOL = "small"


@pytest.fixture(autouse=True)
def worker(engine: Engine) -> None:
    seed.register(engine, "worker")


def spec(dag_id: str, count: int = 4, slots: int = 1) -> DagSpec:
    return seed.in_pool(seed.wide(count, dag_id), POOL, slots)


def scheduled(
    engine: Engine, new: NewBackfill, count: int = 4, slots: int = 1, day: int = 0
) -> list[int]:
    """Start a run of a backfill, long before any other; return its scheduled tasks."""
    version = seed.store(engine, spec(new.dag_id, count, slots))
    with engine.begin() as conn:
        number = backfill_plans.create(conn, new)
    [run] = seed.create_runs(engine, version, [day], number)
    with engine.begin() as conn:
        queued_runs.start(conn, [run], seed.START - 9 * seed.DAY, seed.AGING)
        found = text("SELECT id FROM task_instance WHERE dag_run_id = :run ORDER BY id")
        return list(conn.scalars(found, {"run": run}))


def new(dag_id: str = "past", weight: int = 100, *, idle_only: bool = False) -> NewBackfill:
    days = seed.START, seed.START + seed.DAY
    return NewBackfill(dag_id, *days, 9, weight=weight, idle_only=idle_only)


def queue(replica: Replica) -> list[int]:
    return queue_tasks(replica, POOL, seed.START).task_ids


def test_live_tasks_come_first_then_backfills_then_those_of_spare_slots(
    engine: Engine, replica: Replica
) -> None:
    seed.make_pool(engine, POOL, 99)
    idle = scheduled(engine, new("idle", idle_only=True))
    past = scheduled(engine, new())
    live = seed.scheduled(engine, spec("live"))

    assert queue(replica) == [*live, *past, *idle]

    with engine.begin() as conn:
        worker = seed.register(engine, "worker")
        claimed = attempts.claim(conn, worker, [DEFAULT_QUEUE], 5, 30)
    assert [attempt.key.task_instance_id for attempt in claimed] == [*live, past[0]]


def test_a_weight_is_a_share_of_the_pool(engine: Engine, replica: Replica) -> None:
    seed.make_pool(engine, POOL, 8)
    past = scheduled(engine, new(weight=25))

    admission = queue_tasks(replica, POOL, seed.START)

    assert admission.task_ids == past[:2]
    assert {budget.limit for budget in admission.refused.values()} == {Limit.BACKFILL}
    assert queue(replica) == []


def test_a_backfill_that_holds_nothing_may_take_one_task_whatever_its_slots(
    engine: Engine, replica: Replica
) -> None:
    seed.make_pool(engine, POOL, 10)
    past = scheduled(engine, new(weight=10), 2, slots=2)

    assert queue(replica) == past[:1]
    assert queue(replica) == []

    seed.report(
        engine, [attempt.key for attempt in seed.claim(engine, seed.register(engine, "worker"))]
    )
    assert queue(replica) == past[1:]


def test_a_backfill_that_has_its_share_is_in_no_other_ones_way(
    engine: Engine, replica: Replica
) -> None:
    """The DAG has places for a few tasks, and the first backfill has more that wait than those."""
    seed.make_pool(engine, POOL, 100)
    one = scheduled(engine, new(weight=1), 20)
    two = scheduled(engine, new(), 20, day=1)
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET max_active_tasks = 4"))

    assert queue(replica) == one[:1]
    assert queue(replica) == two[:3]


def test_tasks_of_a_backfill_whose_queue_is_not_idle_are_in_no_other_ones_way(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    """More of them wait than a pass takes, and the queue has its read-ahead left."""
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET slots = 2 WHERE kind = 'worker'"))
        processes.register(conn, "worker", ("host", 2), "test", ["other"], 9)
    seed.make_pool(engine, POOL, 100)
    one, two = scheduled(engine, new(), 9), scheduled(engine, new(), 9, day=1)
    with engine.begin() as conn:
        other = text("UPDATE task_instance SET queue = 'other' WHERE id = ANY (:two)")
        conn.execute(other, {"two": two})
    replica = new_replica(max_tis_per_query=2)

    assert queue(replica) == one[:2]
    assert queue(replica) == two[:2]


def test_a_dag_that_is_held_for_an_instant_loses_no_slots_to_a_backfill(
    engine: Engine, replica: Replica
) -> None:
    seed.make_pool(engine, POOL, 4)
    live = seed.scheduled(engine, spec("live"))
    scheduled(engine, new())
    with engine.begin() as conn:
        conn.execute(text("SELECT FROM dag WHERE dag_id = 'live' FOR NO KEY UPDATE"))
        assert queue(replica) == []

    assert queue(replica) == live


def test_backfills_leave_the_read_ahead_of_a_queue_to_others(
    engine: Engine, replica: Replica
) -> None:
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET slots = 2 WHERE kind = 'worker'"))
    seed.make_pool(engine, POOL, 99)
    past = scheduled(engine, new())

    assert queue(replica) == past[:2]
    live = seed.scheduled(engine, spec("live", 9))
    assert queue(replica) == live[: 2 * READ_AHEAD - 2]


@pytest.mark.parametrize(
    "without",
    [
        "UPDATE dag SET paused = true WHERE dag_id = 'large'",
        "UPDATE dag SET max_active_tasks = 0 WHERE dag_id = 'large'",
        "UPDATE task_instance SET pool_slots = 5 WHERE dag_id = 'large'",
        "UPDATE task_instance SET queue = 'nobodys' WHERE dag_id = 'large'",
    ],
)
def test_small_tasks_of_a_backfill_do_not_starve_a_large_live_one(
    engine: Engine, replica: Replica, without: str
) -> None:
    """Unless that could not be queued with any number of free slots."""
    seed.make_pool(engine, POOL, 4)
    holding = seed.scheduled(engine, spec("holding", 2))
    assert queue(replica) == holding
    seed.scheduled(engine, spec("large", 1, slots=3))
    past = scheduled(engine, new())

    assert queue(replica) == []

    with engine.begin() as conn:
        conn.execute(text(without))
    assert queue(replica) == past[:2]


def test_small_tasks_of_a_backfill_do_not_starve_a_large_one_under_a_narrower_limit(
    engine: Engine, replica: Replica
) -> None:
    seed.make_pool(engine, POOL, 4)
    holding = seed.scheduled(engine, spec("holding", 2))
    assert queue(replica) == holding
    large = spec("large", 1, slots=3)
    tasks = tuple(replace(task, max_active_tis_per_dag=5) for task in large.tasks)
    seed.scheduled(engine, replace(large, tasks=tasks))
    scheduled(engine, new())

    assert queue(replica) == []


def test_tasks_that_use_spare_slots_only_do_not_starve_a_large_one_of_another_backfill(
    engine: Engine, replica: Replica
) -> None:
    seed.make_pool(engine, POOL, 4)
    holding = seed.scheduled(engine, spec("holding", 2))
    assert queue(replica) == holding
    seed.claim(engine, seed.register(engine, "worker"))
    large = scheduled(engine, new("large"), 1, slots=3)
    idle = scheduled(engine, new("idle", idle_only=True))

    assert queue(replica) == []

    with engine.begin() as conn:
        run = "UPDATE task_instance SET priority_class = 2 WHERE id = ANY (:large)"
        conn.execute(text(run), {"large": large})
    assert queue(replica) == idle[:2]


def test_spare_slots_are_those_of_which_no_worker_has_yet_to_take_others(
    engine: Engine, replica: Replica
) -> None:
    seed.make_pool(engine, POOL, 99)
    live = seed.scheduled(engine, spec("live", 1))
    idle = scheduled(engine, new("idle", idle_only=True))
    with engine.begin() as conn:
        tasks.queue(conn, live, seed.START, seed.SCHEDULER)

    assert queue(replica) == []

    seed.claim(engine, seed.register(engine, "worker"))
    assert queue(replica) == idle


def test_a_retry_and_what_is_added_keep_the_priority_class(
    engine: Engine, replica: Replica
) -> None:
    seed.make_pool(engine, POOL, 99)
    [task] = scheduled(engine, new(), 1)
    with engine.begin() as conn:
        move = "UPDATE task_instance SET state = 'up_for_retry', retry_at = :at WHERE id = :id"
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        conn.execute(text(move), {"at": seed.START, "id": task})
    with engine.begin() as conn:
        tasks.schedule_retries(conn, seed.START, 9, seed.AGING)
    live = seed.scheduled(engine, replace(spec("live", 1), max_active_runs=1))

    assert queue(replica) == [*live, task]


def test_what_is_of_a_backfill_is_under_a_narrower_limit_however_it_came_to_it(
    engine: Engine, replica: Replica
) -> None:
    """New, taken over from the schedule, or added by another version of the DAG."""
    run = seed.start_run(engine, seed.dag())
    with engine.begin() as conn:
        runs.settle(conn, {run: (0, RunState.SUCCESS)}, seed.START)
    force(engine, run, work="success")
    seed.store(engine, seed.dag(seed.task("work"), seed.task("more")))
    days = seed.START, seed.START + seed.DAY
    request = BackfillRequest("etl", *days, {}, 9, way=Way(Reprocess.COMPLETED), version="latest")
    later = seed.START + 9 * seed.DAY
    with engine.begin() as conn:
        create_backfill(conn, request, later, "user:ann")

    assert start_runs(replica, later) == 2

    with engine.connect() as conn:
        found = conn.execute(
            text("SELECT task_id, priority_class, limited FROM task_instance ORDER BY 1")
        )
        assert list(found) == [("more", 1, True)] * 2 + [("work", 1, True)] * 2
