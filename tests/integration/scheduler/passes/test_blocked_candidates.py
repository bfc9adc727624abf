"""F17: however many wait for a limit, one behind them that fits is queued in the next pass."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from headway.db.core import processes
from headway.db.users import dag_changes
from headway.decide.scheduling.admit import READ_AHEAD
from headway.domain.dag.spec import DEFAULT_POOL, DagSpec, MapInput, TaskSpec
from headway.testing.data import seed
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.replica.replica import Replica

MANY = 5000


def urgent(spec: DagSpec, **changes: object) -> DagSpec:
    """Return the DAG with tasks that come before others, and with these changes to them."""
    tasks = tuple(replace(task, priority_weight=9, **changes) for task in spec.tasks)  # type: ignore[arg-type]
    return replace(spec, tasks=tasks, max_active_tasks=2 * MANY)


def full_dag() -> DagSpec:
    return replace(urgent(seed.wide(MANY, "blocked")), max_active_tasks=1)


def full_run() -> DagSpec:
    return replace(urgent(seed.wide(MANY, "blocked")), max_active_tasks_per_dagrun=1)


def mapped(**changes: object) -> DagSpec:
    """Return a DAG of one task with that many instances."""
    over = (MapInput(argument="n", length=MANY),)
    return urgent(seed.dag(seed.task("each"), dag_id="blocked"), mapped_over=over, **changes)


def full_task() -> DagSpec:
    return mapped(max_active_tis_per_dag=1)


def full_task_in_run() -> DagSpec:
    return mapped(max_active_tis_per_dagrun=1)


def without_worker() -> DagSpec:
    return mapped(queue="nobody")


def in_a_full_queue() -> DagSpec:
    return mapped(queue="narrow")


def too_large() -> DagSpec:
    return mapped(pool_slots=1000)


def of_a_paused_dag() -> DagSpec:
    return mapped()


KINDS = [
    full_dag,
    full_run,
    full_task,
    full_task_in_run,
    without_worker,
    in_a_full_queue,
    too_large,
    of_a_paused_dag,
]


@pytest.fixture(autouse=True)
def workers(engine: Engine) -> None:
    """One worker with plenty of slots, and one with a single slot for a queue of its own."""
    seed.register(engine, "worker")
    with engine.begin() as conn:
        processes.register(conn, "worker", ("host", 2), "test", ["narrow"], 1)


@pytest.fixture
def few_at_a_time(new_replica: Callable[..., Replica]) -> Replica:
    return new_replica(max_tis_per_query=10, max_map_length=MANY)


def queue(replica: Replica) -> list[int]:
    return queue_tasks(replica, DEFAULT_POOL, seed.START).task_ids


def block(engine: Engine, replica: Replica, spec: DagSpec) -> None:
    """Have the tasks of that DAG ready, and as many of them queued as may be."""
    if spec.tasks[0].mapped_over:
        seed.start_run(engine, spec)
        schedule_tasks(replica, seed.START)
    else:
        seed.scheduled(engine, spec)
    with engine.begin() as conn:
        conn.execute(text("ANALYZE task_instance"))


def plain(task: TaskSpec) -> TaskSpec:
    return task


def limited(task: TaskSpec) -> TaskSpec:
    return replace(task, max_active_tis_per_dag=1)


@pytest.mark.parametrize("runnable", [plain, limited])
@pytest.mark.parametrize("kind", KINDS)
def test_one_that_fits_is_queued_in_the_next_pass(
    engine: Engine,
    few_at_a_time: Replica,
    kind: Callable[[], DagSpec],
    runnable: Callable[[TaskSpec], TaskSpec],
) -> None:
    block(engine, few_at_a_time, kind())
    if kind is of_a_paused_dag:
        with engine.begin() as conn:
            dag_changes.set_paused(conn, "blocked", paused=True)
    while queue(few_at_a_time):
        pass
    behind = seed.dag(runnable(seed.task("behind")), dag_id="behind")
    expected = seed.scheduled(engine, behind)

    assert queue(few_at_a_time) == expected


@pytest.mark.parametrize("runnable", [plain, limited])
def test_a_queue_with_little_room_does_not_fill_the_batch(
    engine: Engine, few_at_a_time: Replica, runnable: Callable[[TaskSpec], TaskSpec]
) -> None:
    """Its worker takes one of thousands at a time, so that it never has none and never many."""
    block(engine, few_at_a_time, urgent(in_a_full_queue(), max_active_tis_per_dagrun=MANY))
    with engine.begin() as conn:
        processes.register(conn, "worker", ("host", 3), "test", ["narrow"], 1)
    [behind] = seed.scheduled(engine, seed.dag(runnable(seed.task("t")), dag_id="behind"))

    queued = queue(few_at_a_time)

    assert behind in queued
    assert len(queued) == 2 * READ_AHEAD + 1, "what the queue's two slots take, and the one behind"


def test_runs_and_tasks_at_their_limit_do_not_fill_the_batch(
    engine: Engine, few_at_a_time: Replica
) -> None:
    """A hundred runs of fifty tasks, each run at its limit."""
    spec = replace(urgent(seed.wide(50, "blocked")), max_active_tasks_per_dagrun=1)
    for day in range(100):
        seed.scheduled(engine, spec, day)
    while queue(few_at_a_time):
        pass
    expected = seed.scheduled(engine, seed.dag(dag_id="behind"))

    assert queue(few_at_a_time) == expected
