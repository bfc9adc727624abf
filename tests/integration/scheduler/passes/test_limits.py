"""Every limit on what may be active at a time: it is used up, kept, and free again."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from headway.db.core import processes
from headway.db.core.processes import Identity
from headway.db.scheduling import demand
from headway.db.users import dag_changes, pools
from headway.domain.dag.spec import DEFAULT_POOL, DEFAULT_QUEUE, DagSpec, MapInput
from headway.testing.data import seed
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.replica.replica import Replica


@pytest.fixture
def worker(engine: Engine) -> Identity:
    return seed.register(engine, "worker")


def queue(replica: Replica, pool: str = DEFAULT_POOL) -> int:
    return len(queue_tasks(replica, pool, seed.START).task_ids)


def end_one(engine: Engine, worker: Identity) -> None:
    """Have one of the queued tasks claimed, and report that it succeeded."""
    [claimed] = seed.claim(engine, worker, limit=1)
    seed.report(engine, [claimed.key])


def active(engine: Engine, by: str) -> Counter[object]:
    """Return how many tasks are queued or running, by that column of theirs."""
    rows = text("""
        SELECT to_jsonb(task) ->> :by FROM task_instance AS task
         WHERE state IN ('queued', 'running')
    """)
    with engine.connect() as conn:
        return Counter(conn.scalars(rows, {"by": by}))


def start_runs(engine: Engine, spec: DagSpec, count: int) -> None:
    """Start so many runs of a DAG whose tasks are all ready."""
    for day in range(count):
        seed.scheduled(engine, spec, day)


def expanded(engine: Engine, replica: Replica, spec: DagSpec, days: int = 1) -> None:
    """Start runs of a DAG of one mapped task, which is expanded."""
    for day in range(days):
        seed.start_run(engine, spec, day)
    schedule_tasks(replica, seed.START)


def mapped(instances: int, **limits: int) -> DagSpec:
    over = (MapInput(argument="n", length=instances),)
    return replace(
        seed.dag(replace(seed.task("each"), mapped_over=over, **limits)),  # type: ignore[arg-type]
        max_active_tasks=100,
    )


def test_max_active_tasks_of_a_dag(engine: Engine, replica: Replica, worker: Identity) -> None:
    start_runs(engine, replace(seed.wide(3), max_active_tasks=4), 2)

    assert [queue(replica), queue(replica)] == [4, 0]
    end_one(engine, worker)
    assert [queue(replica), queue(replica)] == [1, 0]
    assert active(engine, "dag_id") == {"etl": 4}


def test_max_active_tasks_of_a_run(engine: Engine, replica: Replica, worker: Identity) -> None:
    start_runs(engine, replace(seed.wide(3), max_active_tasks_per_dagrun=2), 2)

    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET max_active_tasks = 100"))
    assert [queue(replica), queue(replica)] == [4, 0]
    assert sorted(active(engine, "dag_run_id").values()) == [2, 2]
    end_one(engine, worker)
    assert [queue(replica), queue(replica)] == [1, 0]


def test_a_dags_limit_holds_for_tasks_under_a_narrower_one(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    spec = replace(seed.wide(3), max_active_tasks_per_dagrun=2, max_active_tasks=3)
    start_runs(engine, spec, 2)

    assert [queue(replica), queue(replica)] == [3, 0]


def test_max_active_instances_of_a_task_in_all_runs(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    narrow = replace(seed.task("narrow"), max_active_tis_per_dag=2)
    start_runs(engine, seed.dag(narrow, seed.task("other")), 3)

    assert [queue(replica), queue(replica)] == [5, 0]
    assert active(engine, "task_id") == {"narrow": 2, "other": 3}
    for _ in range(4):
        end_one(engine, worker)
    queue(replica)
    assert active(engine, "task_id")["narrow"] in (1, 2)


def test_max_active_instances_of_a_task_in_one_run(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    expanded(engine, replica, mapped(5, max_active_tis_per_dagrun=2), days=2)

    assert [queue(replica), queue(replica)] == [4, 0]
    assert sorted(active(engine, "dag_run_id").values()) == [2, 2]
    end_one(engine, worker)
    assert [queue(replica), queue(replica)] == [1, 0]


def test_the_narrowest_of_several_limits_counts(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    spec = mapped(5, max_active_tis_per_dagrun=3, max_active_tis_per_dag=4)
    expanded(engine, replica, replace(spec, max_active_tasks_per_dagrun=2), days=3)

    while queue(replica):
        pass

    assert active(engine, "task_id") == {"each": 4}
    assert max(active(engine, "dag_run_id").values()) == 2


def test_pool_slots(engine: Engine, replica: Replica, worker: Identity) -> None:
    seed.make_pool(engine, "db", 7)
    start_runs(engine, seed.in_pool(seed.wide(5), "db", slots=3), 1)

    assert [queue(replica, "db"), queue(replica, "db")] == [2, 0]
    end_one(engine, worker)
    assert [queue(replica, "db"), queue(replica, "db")] == [1, 0]


@pytest.mark.parametrize(("include_deferred", "queued"), [(False, 2), (True, 1)])
def test_deferred_tasks_take_slots_of_pools_that_say_so(
    engine: Engine, replica: Replica, worker: Identity, include_deferred: bool, queued: int
) -> None:
    seed.make_pool(engine, "db", 3, include_deferred=include_deferred)
    start_runs(engine, seed.in_pool(seed.wide(5), "db"), 1)
    queue(replica, "db")
    first, second, third = (claimed.key for claimed in seed.claim(engine, worker))
    defer(engine, first.task_instance_id, second.task_instance_id)
    seed.report(engine, [third])

    assert queue(replica, "db") == queued


def defer(engine: Engine, *tasks: int) -> None:
    """Have running tasks deferred: their attempts are over."""
    moved = text("UPDATE task_instance SET state = 'deferred' WHERE id = ANY (:ids)")
    ended = text("""
        UPDATE task_attempt SET phase = 'ended', ended_at = now(), outcome = 'success'
         WHERE task_instance_id = ANY (:ids)
    """)
    with engine.begin() as conn:
        for statement in (moved, ended):
            conn.execute(statement, {"ids": list(tasks)})


def test_an_attempt_that_was_told_to_stop_keeps_its_slots_until_it_has(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    seed.make_pool(engine, "db", 1)
    start_runs(engine, seed.in_pool(seed.wide(2), "db"), 1)
    queue(replica, "db")
    [claimed] = seed.claim(engine, worker)
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_attempt SET phase = 'stopping', stop_to = 'none'"))
        conn.execute(
            text("""
                WITH told AS (SELECT set_config('headway.actor', 'user:test', true))
                UPDATE task_instance SET state = 'restarting' FROM told WHERE state = 'running'
            """)
        )

    assert queue(replica, "db") == 0
    seed.report(engine, [claimed.key])
    assert queue(replica, "db") == 1


def test_the_tasks_of_a_deleted_pool_wait_until_it_is_back(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    seed.make_pool(engine, "db", 3)
    start_runs(engine, seed.in_pool(seed.wide(2), "db"), 1)
    with engine.begin() as conn:
        pools.delete(conn, "db")

    assert queue(replica, "db") == 0
    seed.make_pool(engine, "db", 3)
    with engine.connect() as conn:
        assert demand.look(conn, seed.START).pools == ["db"]
    assert queue(replica, "db") == 2
    with engine.connect() as conn:
        assert demand.look(conn, seed.START).pools == []


def test_a_paused_dag_has_no_place(engine: Engine, replica: Replica, worker: Identity) -> None:
    start_runs(engine, seed.wide(2), 1)
    for paused, queued in ((True, 0), (False, 2)):
        with engine.begin() as conn:
            dag_changes.set_paused(conn, "etl", paused=paused)
        assert queue(replica) == queued


def in_queue(spec: DagSpec, name: str) -> DagSpec:
    return replace(spec, tasks=tuple(replace(task, queue=name) for task in spec.tasks))


def serve(engine: Engine, slots: int, *queues: str) -> Identity:
    """Enter a worker with so many slots for these queues."""
    with engine.begin() as conn:
        return processes.register(conn, "worker", ("host", 1), "test", queues, slots)


def test_a_queue_is_given_nothing_until_a_worker_serves_it(
    engine: Engine, replica: Replica
) -> None:
    start_runs(engine, in_queue(seed.wide(2), "gpu"), 1)
    serve(engine, 8, DEFAULT_QUEUE)
    assert queue(replica) == 0

    gpu = serve(engine, 8, "gpu", DEFAULT_QUEUE)
    with engine.begin() as conn:
        processes.leave(conn, gpu)
    assert queue(replica) == 0, "its worker has left"

    serve(engine, 8, "gpu", DEFAULT_QUEUE)
    assert queue(replica) == 2


def test_a_queue_holds_three_times_what_its_workers_run(engine: Engine, replica: Replica) -> None:
    start_runs(engine, seed.wide(20), 1)
    first = serve(engine, 2, DEFAULT_QUEUE)
    assert [queue(replica), queue(replica)] == [6, 0]

    serve(engine, 1, DEFAULT_QUEUE)
    assert [queue(replica), queue(replica)] == [3, 0]
    end_one(engine, first)
    assert [queue(replica), queue(replica)] == [1, 0]


def test_parallelism_is_of_each_scheduler(
    engine: Engine, worker: Identity, new_replica: Callable[..., Replica]
) -> None:
    start_runs(engine, seed.wide(10), 1)
    first, second = new_replica(parallelism=3), new_replica(parallelism=4)

    assert [queue(first), queue(first), queue(second), queue(second)] == [3, 0, 4, 0]
    for _ in range(3):  # those of the first scheduler: they come first in the queue order
        end_one(engine, worker)
    assert [queue(second), queue(first)] == [0, 3]


def test_what_parallelism_leaves_is_shared_by_all_queues(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    start_runs(engine, seed.wide(4), 1)
    start_runs(engine, in_queue(seed.wide(4, "on_gpu"), "gpu"), 1)
    serve(engine, 2, "gpu")
    serve(engine, 2, DEFAULT_QUEUE)

    assert queue(new_replica(parallelism=5)) == 5
