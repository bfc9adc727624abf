"""No limit is passed when two schedulers queue at once: who holds which lock, written down."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Connection, Engine, TextClause, event, text

from headway.db.changes import run_end
from headway.db.core import events
from headway.db.core.events import Event
from headway.db.scheduling import dags, free_slots, pools, queued_runs
from headway.decide.scheduling.admit import Budget, Limit
from headway.domain.dag.spec import DEFAULT_POOL, DagSpec, MapInput
from headway.domain.states import RunState
from headway.testing.data import seed
from headway.testing.database.interleaving import just_before
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

SMALL = "small"


@pytest.fixture(autouse=True)
def worker(engine: Engine) -> None:
    seed.register(engine, "worker")


@pytest.fixture
def other(new_replica: Callable[..., Replica]) -> Replica:
    return new_replica()


def queue(replica: Replica, pool: str = DEFAULT_POOL) -> list[int]:
    return queue_tasks(replica, pool, seed.START).task_ids


def states(engine: Engine) -> Counter[str]:
    with engine.connect() as conn:
        return Counter(conn.scalars(text("SELECT state FROM task_instance")))


def test_a_pool_in_use_is_skipped_by_the_other_scheduler(
    engine: Engine, other: Replica, new_replica: Callable[..., Replica]
) -> None:
    """A second DAG, so that the pool is all that the two have in common."""
    seed.make_pool(engine, SMALL, 3)
    seed.scheduled(engine, seed.in_pool(seed.wide(5, "one"), SMALL))
    seed.scheduled(engine, seed.in_pool(seed.wide(5, "two"), SMALL))
    two_at_a_time = new_replica(max_tis_per_query=2)
    others: list[int] = []

    def let_the_other_queue() -> None:
        others.extend(queue(other, SMALL))

    mine = queue_tasks(two_at_a_time, SMALL, seed.START, let_the_other_queue)

    assert (len(mine.task_ids), others) == (2, [])
    assert states(engine) == {"queued": 2, "scheduled": 8}


def test_slots_are_counted_after_the_pool_is_locked(
    engine: Engine, replica: Replica, other: Replica
) -> None:
    """Another scheduler fills the pool just before this one gets its lock."""
    seed.make_pool(engine, SMALL, 3)
    seed.scheduled(engine, seed.in_pool(seed.wide(5), SMALL))

    with just_before(engine, pools.LOCK, lambda: queue(other, SMALL)):
        assert queue(replica, SMALL) == []

    assert states(engine) == {"queued": 3, "scheduled": 2}


def test_two_schedulers_fill_two_pools_side_by_side(
    engine: Engine, replica: Replica, other: Replica
) -> None:
    seed.make_pool(engine, SMALL, 3)
    seed.scheduled(engine, seed.in_pool(seed.wide(5, "one"), SMALL))
    seed.scheduled(engine, seed.wide(5, "two"))
    others: list[int] = []

    mine = queue_tasks(replica, SMALL, seed.START, lambda: others.extend(queue(other)))

    assert (len(mine.task_ids), len(others)) == (3, 5)


def test_a_pool_that_is_being_changed_is_left_alone(
    engine: Engine, replica: Replica, other: Replica
) -> None:
    """The change comes before the pass or after it, and never in between."""
    seed.make_pool(engine, SMALL, 3)
    seed.scheduled(engine, seed.in_pool(seed.wide(5), SMALL))
    change = text("UPDATE pool SET slots = 1 WHERE name = 'small'")

    with engine.begin() as user:
        user.execute(change)
        assert queue(replica, SMALL) == [], "the pool is the user's until the change is made"

    assert len(queue(replica, SMALL)) == 1


def halves(spec: DagSpec) -> DagSpec:
    """Return the DAG with every other task in the small pool."""
    tasks = [
        replace(task, pool=SMALL) if number % 2 else task for number, task in enumerate(spec.tasks)
    ]
    return replace(spec, tasks=tuple(tasks))


def full_dag(engine: Engine, replica: Replica) -> Limit:
    seed.scheduled(engine, replace(halves(seed.wide(10)), max_active_tasks=3))
    return Limit.DAG


def full_run(engine: Engine, replica: Replica) -> Limit:
    seed.scheduled(engine, replace(halves(seed.wide(10)), max_active_tasks_per_dagrun=3))
    return Limit.RUN


def full_task(engine: Engine, replica: Replica) -> Limit:
    """The task is in another pool since the DAG's second version."""
    spec = seed.dag(replace(seed.task("work"), max_active_tis_per_dag=3))
    for day in range(8):
        seed.scheduled(engine, seed.in_pool(spec, SMALL if day % 2 else DEFAULT_POOL), day)
    return Limit.TASK


def full_task_in_run(engine: Engine, replica: Replica) -> Limit:
    """Somebody has moved every other instance into another pool."""
    over = (MapInput(argument="n", length=8),)
    task = replace(seed.task("work"), mapped_over=over, max_active_tis_per_dagrun=3)
    seed.start_run(engine, seed.dag(task))
    schedule_tasks(replica, seed.START)
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET pool = 'small' WHERE map_index % 2 = 1"))
    return Limit.TASK_IN_RUN


KINDS = pytest.mark.parametrize("kind", [full_dag, full_run, full_task, full_task_in_run])
Kind = Callable[[Engine, Replica], Limit]


@KINDS
def test_a_limit_of_a_dag_holds_across_pools(
    engine: Engine, replica: Replica, other: Replica, kind: Kind
) -> None:
    """Two schedulers have a pool each; the DAG gets its places once."""
    seed.make_pool(engine, SMALL, 10)
    kind(engine, replica)
    others: list[int] = []

    mine = queue_tasks(replica, SMALL, seed.START, lambda: others.extend(queue(other)))

    assert (len(mine.task_ids), others) == (3, [])
    assert states(engine)["queued"] == 3


@KINDS
def test_places_are_counted_after_the_dag_is_locked(
    engine: Engine, replica: Replica, other: Replica, kind: Kind
) -> None:
    """Another scheduler takes the places just before this one locks the DAG."""
    seed.make_pool(engine, SMALL, 10)
    limit = kind(engine, replica)

    with just_before(engine, dags.LOCK_PLACES, lambda: queue(other)):
        admission = queue_tasks(replica, SMALL, seed.START)

    assert admission.task_ids == []
    assert {budget.limit for budget in admission.refused.values()} == {limit}
    assert states(engine)["queued"] == 3


def test_a_dag_that_another_scheduler_holds_is_refused_and_no_other(
    engine: Engine, replica: Replica
) -> None:
    seed.scheduled(engine, seed.dag(dag_id="held"))
    free = seed.scheduled(engine, seed.dag(dag_id="free"))

    with engine.begin() as holder:
        holder.execute(text("SELECT FROM dag WHERE dag_id = 'held' FOR NO KEY UPDATE"))
        admission = queue_tasks(replica, DEFAULT_POOL, seed.START)

    assert admission.task_ids == free
    assert list(admission.refused.values()) == [Budget(Limit.DAG, ("held",))]


def test_runs_to_create_are_counted_after_the_dag_is_locked(
    engine: Engine, replica: Replica
) -> None:
    """A user starts two runs again just before the DAG, which has a new version, is locked."""
    spec = replace(seed.dag(), max_active_runs=2)
    seed.store(engine, spec)
    create_runs(replica, seed.START + 2 * seed.DAY)
    with engine.connect() as conn:
        created = list(conn.scalars(text("SELECT id FROM dag_run ORDER BY id")))

    def end(conn: Connection) -> None:
        for run in created:
            run_end.end(conn, run, RunState.SUCCESS)

    def start_again(conn: Connection) -> None:
        for run in created:
            run_end.start_again(conn, [run])

    act(engine, end)
    seed.store(engine, replace(spec, description="new"))
    with just_before(engine, dags.LOCK_DUE, lambda: act(engine, start_again)):
        create_runs(replica, seed.START + 9 * seed.DAY)

    assert seed.run_states(engine) == {"queued": 2}


def act(engine: Engine, action: Callable[[Connection], object]) -> None:
    with engine.begin() as conn:
        events.add(conn, Event(actor="user:test", action="run.clear"))
        action(conn)


def test_a_slot_that_falls_free_once_the_pool_is_locked_is_given_again(
    engine: Engine, replica: Replica
) -> None:
    """Counting in a statement of its own sees what was committed since the lock was asked for."""
    seed.make_pool(engine, SMALL, 1)
    seed.scheduled(engine, seed.in_pool(seed.wide(2), SMALL))
    queue(replica, SMALL)
    [claimed] = seed.claim(engine, seed.register(engine, "worker"))

    with just_before(engine, pools.FREE, lambda: seed.report(engine, [claimed.key])):
        assert len(queue(replica, SMALL)) == 1


@pytest.fixture
def executed(engine: Engine) -> Iterator[list[TextClause]]:
    """The statements that are executed, in order."""
    found: list[TextClause] = []

    def note(_conn: object, statement: TextClause, *_rest: object) -> None:
        found.append(statement)

    event.listen(engine, "before_execute", note)
    yield found
    event.remove(engine, "before_execute", note)


@pytest.mark.parametrize(
    ("lock", "count"),
    [
        (pools.LOCK, pools.FREE),
        (dags.LOCK_PLACES, free_slots.LIVE),
        (queued_runs.LOCK_STARTING, queued_runs.FREE_RUN_SLOTS),
        (dags.LOCK_DUE, dags.SCHEDULED),
    ],
    ids=["slots", "places", "starting runs", "creating runs"],
)
def test_what_is_limited_is_counted_in_a_statement_after_that_of_the_lock(
    engine: Engine,
    replica: Replica,
    executed: list[TextClause],
    lock: TextClause,
    count: TextClause,
) -> None:
    """In one statement the count would be of a snapshot that is older than the lock."""
    seed.store(engine, seed.dag())

    create_runs(replica, seed.START + seed.DAY)
    start_runs(replica, seed.START + seed.DAY)
    queue(replica)

    assert executed.count(count) == 1
    assert executed.index(lock) < executed.index(count)
