"""The critical section: no pool and no DAG is ever overrun, and nothing waits without need."""

from collections import Counter
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from headway.actions.pools import delete_pool, set_pool
from headway.db import dags, pools, tasks
from headway.db.processes import Identity
from headway.decide.admit import Refusal
from headway.domain.spec import DEFAULT_POOL, DagSpec
from headway.testing import seed
from headway.testing.interleaving import just_before
from headway_scheduler.passes.queue_tasks import NOTHING, pools_in_demand, queue_tasks


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine)


@pytest.fixture
def other(engine: Engine) -> Identity:
    return seed.register(engine)


def queue(engine: Engine, me: Identity, pool: str = DEFAULT_POOL, batch: int = 512) -> list[int]:
    return queue_tasks(engine, me, pool, seed.START, batch).task_ids


def make_pool(engine: Engine, name: str, slots: int) -> None:
    with engine.begin() as conn:
        set_pool(conn, name, slots, "", "user:test")


def in_pool(spec: DagSpec, pool: str, slots: int = 1) -> DagSpec:
    tasks = tuple(replace(task, pool=pool, pool_slots=slots) for task in spec.tasks)
    return replace(spec, tasks=tasks)


def states(engine: Engine) -> Counter[str]:
    with engine.connect() as conn:
        return Counter(conn.scalars(text("SELECT state FROM task_instance")))


def test_a_queued_task_has_an_attempt_that_waits_for_a_worker(engine: Engine, me: Identity) -> None:
    spec = seed.dag(replace(seed.task("work"), queue="big", priority_weight=7, pool_slots=2))
    [task_id] = seed.scheduled(engine, spec)

    assert queue(engine, me) == [task_id]

    with engine.connect() as conn:
        attempt = conn.execute(text("SELECT * FROM task_attempt")).one()
    assert (attempt.task_instance_id, attempt.attempt, attempt.phase) == (task_id, 1, "queued")
    assert (attempt.dag_id, attempt.pool, attempt.pool_slots) == ("etl", DEFAULT_POOL, 2)
    assert (attempt.queue, attempt.priority, attempt.queued_at) == ("big", 7, seed.START)


def test_a_pool_is_filled_and_no_further(engine: Engine, me: Identity) -> None:
    make_pool(engine, "small", 3)
    ids = seed.scheduled(engine, in_pool(seed.wide(5), "small"))

    assert queue(engine, me, "small") == ids[:3]
    assert queue_tasks(engine, me, "small", seed.START, 512) == NOTHING

    [claimed, *_] = seed.claim(engine, seed.register(engine, "worker"))
    seed.report(engine, [claimed.key])
    assert queue(engine, me, "small") == ids[3:4]


def test_a_pool_that_was_made_smaller_takes_nothing_more(engine: Engine, me: Identity) -> None:
    make_pool(engine, "small", 3)
    seed.scheduled(engine, in_pool(seed.wide(5), "small"))
    queue(engine, me, "small")
    make_pool(engine, "small", 1)

    assert queue(engine, me, "small") == []


def test_a_pool_in_use_is_skipped_by_the_other_scheduler(
    engine: Engine, me: Identity, other: Identity
) -> None:
    """A second DAG, so that the pool is all that the two have in common."""
    make_pool(engine, "small", 3)
    seed.scheduled(engine, in_pool(seed.wide(5, "one"), "small"))
    seed.scheduled(engine, in_pool(seed.wide(5, "two"), "small"))
    others: list[int] = []

    def let_the_other_run() -> None:
        others.extend(queue(engine, other, "small"))

    mine = queue_tasks(engine, me, "small", seed.START, 2, let_the_other_run)

    assert (len(mine.task_ids), others) == (2, [])
    assert states(engine) == {"queued": 2, "scheduled": 8}


def test_slots_are_counted_after_the_pool_is_locked(
    engine: Engine, me: Identity, other: Identity
) -> None:
    """Another scheduler fills the pool just before this one gets its lock."""
    make_pool(engine, "small", 3)
    seed.scheduled(engine, in_pool(seed.wide(5), "small"))

    with just_before(engine, pools.LOCK, lambda: queue(engine, other, "small")):
        assert queue(engine, me, "small") == []

    assert states(engine) == {"queued": 3, "scheduled": 2}


def test_two_schedulers_fill_two_pools_side_by_side(
    engine: Engine, me: Identity, other: Identity
) -> None:
    make_pool(engine, "small", 3)
    seed.scheduled(engine, in_pool(seed.wide(5, "one"), "small"))
    seed.scheduled(engine, seed.wide(5, "two"))
    others: list[int] = []

    def let_the_other_run() -> None:
        others.extend(queue(engine, other))

    mine = queue_tasks(engine, me, "small", seed.START, 512, let_the_other_run)

    assert (len(mine.task_ids), len(others)) == (3, 5)


def two_pools(engine: Engine, most: int) -> None:
    """Make one DAG with five tasks in the default pool and five in another."""
    make_pool(engine, "small", 10)
    spec = seed.wide(10)
    split = [
        replace(task, pool="small") if number % 2 else task
        for number, task in enumerate(spec.tasks)
    ]
    seed.scheduled(engine, replace(spec, tasks=tuple(split), max_active_tasks=most))


def test_a_dag_limit_holds_across_pools(engine: Engine, me: Identity, other: Identity) -> None:
    """Two schedulers have a pool each; the DAG gets its places once."""
    two_pools(engine, most=3)
    others: list[int] = []

    def let_the_other_run() -> None:
        others.extend(queue(engine, other))

    mine = queue_tasks(engine, me, "small", seed.START, 512, let_the_other_run)

    assert (len(mine.task_ids), others) == (3, [])
    assert states(engine)["queued"] == 3


def test_places_are_counted_after_the_dag_is_locked(
    engine: Engine, me: Identity, other: Identity
) -> None:
    """Another scheduler takes the DAG's places just before this one locks the DAG."""
    two_pools(engine, most=3)

    with just_before(engine, dags.LOCK_PLACES, lambda: queue(engine, other)):
        admission = queue_tasks(engine, me, "small", seed.START, 512)

    assert (admission.task_ids, admission.refused) == ([], {Refusal.DAG_FULL: 3})
    assert states(engine)["queued"] == 3


def test_a_task_that_does_not_fit_does_not_hold_up_smaller_ones(
    engine: Engine, me: Identity
) -> None:
    make_pool(engine, "small", 4)
    sizes = {"large": 3, "too_large": 2, "fits": 1, "never_fits": 5}
    spec = seed.dag(
        *(replace(seed.task(name), pool="small", pool_slots=sizes[name]) for name in sizes)
    )
    large, too_large, fits, _ = seed.scheduled(engine, spec)

    admission = queue_tasks(engine, me, "small", seed.START, 512)

    assert admission.task_ids == [large, fits]
    assert admission.refused == {Refusal.POOL_FULL: 1}
    assert too_large not in admission.task_ids


def test_what_cannot_start_does_not_fill_the_batch(engine: Engine, me: Identity) -> None:
    """5,000 tasks of full or paused DAGs, or too large, are more urgent than the one that can."""
    full = replace(seed.wide(2000, "full"), max_active_tasks=1)
    seed.scheduled(engine, full)
    queue(engine, me)
    seed.scheduled(engine, seed.wide(2000, "paused"))
    seed.scheduled(engine, in_pool(seed.wide(1000, "large"), DEFAULT_POOL, slots=128))
    with engine.begin() as conn:
        dags.set_paused(conn, "paused", paused=True)
        conn.execute(text("UPDATE task_instance SET priority = 9"))
    [runnable] = seed.scheduled(engine, seed.dag())

    assert queue(engine, me, batch=10) == [runnable]


def test_a_paused_dag_gets_no_place(engine: Engine, me: Identity) -> None:
    seed.scheduled(engine, seed.wide(2))

    def pause() -> None:
        with engine.begin() as conn:
            dags.set_paused(conn, "etl", paused=True)

    with just_before(engine, dags.LOCK_PLACES, pause):
        assert queue(engine, me) == []
    assert queue(engine, me) == []


def test_the_tasks_of_a_deleted_pool_wait_until_it_is_back(engine: Engine, me: Identity) -> None:
    make_pool(engine, "small", 3)
    ids = seed.scheduled(engine, in_pool(seed.wide(2), "small"))
    with engine.begin() as conn:
        delete_pool(conn, "small", "user:test")

    assert pools_in_demand(engine) == []
    assert queue(engine, me, "small") == []

    make_pool(engine, "small", 3)
    assert pools_in_demand(engine) == ["small"]
    assert queue(engine, me, "small") == ids
    assert pools_in_demand(engine) == []


def test_the_most_urgent_are_queued_first(engine: Engine, me: Identity) -> None:
    weights = {"low": 1, "high": 9, "also_high": 9, "middle": 5}
    spec = seed.dag(*(replace(seed.task(name), priority_weight=weights[name]) for name in weights))
    low, high, also_high, middle = seed.scheduled(engine, spec)

    assert queue(engine, me, batch=3) == [high, also_high, middle]
    assert queue(engine, me) == [low]


def test_the_most_urgent_get_the_last_places_of_a_dag(engine: Engine, me: Identity) -> None:
    low, high = seed.scheduled(
        engine,
        replace(
            seed.dag(seed.task("low"), replace(seed.task("high"), priority_weight=9)),
            max_active_tasks=1,
        ),
    )

    assert queue(engine, me) == [high]
    assert low in {low, high}


def test_a_task_that_somebody_holds_is_left_out(engine: Engine, me: Identity) -> None:
    """A user who is changing it, for example."""
    ids = seed.scheduled(engine, seed.wide(3))
    hold = text("SELECT FROM task_instance WHERE id = :id FOR NO KEY UPDATE")

    with engine.begin() as user:
        user.execute(hold, {"id": ids[0]})
        assert queue(engine, me) == ids[1:]


def test_a_task_that_was_moved_meanwhile_is_left_out(engine: Engine, me: Identity) -> None:
    ids = seed.scheduled(engine, seed.wide(2))

    def fail_the_first() -> None:
        with engine.begin() as conn:
            conn.execute(
                text("UPDATE task_instance SET state = 'failed' WHERE id = :id"), {"id": ids[0]}
            )

    with just_before(engine, tasks.LOCK_READY, fail_the_first):
        assert queue(engine, me) == ids[1:]


def test_a_pass_that_fails_queues_nothing(engine: Engine, me: Identity) -> None:
    seed.scheduled(engine, seed.wide(2))

    def fail() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        queue_tasks(engine, me, DEFAULT_POOL, seed.START, 512, fail)

    assert states(engine) == {"scheduled": 2}
