"""The critical section: what is queued, in which order, and what is left alone."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from headway.db.core.processes import Identity
from headway.db.scheduling import dags, ready_tasks, tasks
from headway.db.users import dag_changes
from headway.decide.scheduling.admit import Budget, Limit
from headway.domain.dag.spec import DEFAULT_POOL
from headway.domain.errors import FencedError
from headway.testing.data import seed
from headway.testing.database.interleaving import just_before
from headway_scheduler.passes.queue_tasks import NOTHING, queue_tasks
from headway_scheduler.replica.replica import Replica


@pytest.fixture(autouse=True)
def worker(engine: Engine) -> Identity:
    """A worker that serves the default queue."""
    return seed.register(engine, "worker")


def queue(replica: Replica, pool: str = DEFAULT_POOL) -> list[int]:
    return queue_tasks(replica, pool, seed.START).task_ids


def states(engine: Engine) -> Counter[str]:
    with engine.connect() as conn:
        return Counter(conn.scalars(text("SELECT state FROM task_instance")))


def test_a_queued_task_has_an_attempt_that_waits_for_a_worker(
    engine: Engine, replica: Replica
) -> None:
    spec = seed.dag(replace(seed.task("work"), priority_weight=7, pool_slots=2))
    [task_id] = seed.scheduled(engine, spec)

    assert queue(replica) == [task_id]

    with engine.connect() as conn:
        attempt = conn.execute(text("SELECT * FROM task_attempt")).one()
    assert (attempt.task_instance_id, attempt.attempt, attempt.phase) == (task_id, 1, "queued")
    assert (attempt.dag_id, attempt.pool, attempt.pool_slots) == ("etl", DEFAULT_POOL, 2)
    assert (attempt.queue, attempt.queued_at) == ("default", seed.START)
    assert attempt.rank == seed.START.timestamp() - 7 * seed.AGING
    assert attempt.scheduler_id == replica.me.id


def test_a_pool_is_filled_and_no_further(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    seed.make_pool(engine, "small", 3)
    ids = seed.scheduled(engine, seed.in_pool(seed.wide(5), "small"))

    assert queue(replica, "small") == ids[:3]
    assert queue_tasks(replica, "small", seed.START) == NOTHING

    [claimed, *_] = seed.claim(engine, worker)
    seed.report(engine, [claimed.key])
    assert queue(replica, "small") == ids[3:4]


def test_a_pool_that_was_made_smaller_takes_nothing_more(engine: Engine, replica: Replica) -> None:
    seed.make_pool(engine, "small", 3)
    seed.scheduled(engine, seed.in_pool(seed.wide(5), "small"))
    queue(replica, "small")
    seed.make_pool(engine, "small", 1)

    assert queue(replica, "small") == []


def test_a_task_that_does_not_fit_does_not_hold_up_smaller_ones(
    engine: Engine, replica: Replica
) -> None:
    seed.make_pool(engine, "small", 4)
    sizes = {"large": 3, "too_large": 2, "fits": 1, "never_fits": 5}
    spec = seed.dag(
        *(replace(seed.task(name), pool="small", pool_slots=sizes[name]) for name in sizes)
    )
    large, too_large, fits, _ = seed.scheduled(engine, spec)

    admission = queue_tasks(replica, "small", seed.START)

    assert admission.task_ids == [large, fits]
    assert admission.refused == {too_large: Budget(Limit.POOL, ("small",))}


def test_a_paused_dag_gets_no_place(engine: Engine, replica: Replica) -> None:
    seed.scheduled(engine, seed.wide(2))

    def pause() -> None:
        with engine.begin() as conn:
            dag_changes.set_paused(conn, "etl", paused=True)

    with just_before(engine, dags.LOCK_PLACES, pause):
        assert queue(replica) == []
    assert queue(replica) == []


def test_the_most_urgent_are_queued_first(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    weights = {"low": 1, "high": 9, "also_high": 9, "middle": 5}
    spec = seed.dag(*(replace(seed.task(name), priority_weight=weights[name]) for name in weights))
    low, high, also_high, middle = seed.scheduled(engine, spec)

    assert queue(new_replica(max_tis_per_query=3)) == [high, also_high, middle]
    assert queue(replica) == [low]


def test_the_most_urgent_get_the_last_places_of_a_dag(engine: Engine, replica: Replica) -> None:
    _, high = seed.scheduled(
        engine,
        replace(
            seed.dag(seed.task("low"), replace(seed.task("high"), priority_weight=9)),
            max_active_tasks=1,
        ),
    )

    assert queue(replica) == [high]
    assert queue(replica) == []
    assert seed.task_states(engine) == {"low": "scheduled", "high": "queued"}


@pytest.mark.parametrize("limited", [False, True])
def test_a_task_that_somebody_holds_is_left_out(
    engine: Engine, replica: Replica, limited: bool
) -> None:
    """A user who is changing it, for example."""
    spec = replace(seed.wide(3), max_active_tasks_per_dagrun=3 if limited else None)
    ids = seed.scheduled(engine, spec)
    hold = text("SELECT FROM task_instance WHERE id = :id FOR NO KEY UPDATE")

    with engine.begin() as user:
        user.execute(hold, {"id": ids[0]})
        assert queue(replica) == ids[1:]


@pytest.mark.parametrize("limited", [False, True])
def test_a_task_that_was_moved_meanwhile_is_left_out(
    engine: Engine, replica: Replica, limited: bool
) -> None:
    spec = replace(seed.wide(2), max_active_tasks_per_dagrun=2 if limited else None)
    statement = ready_tasks.LIMITED if limited else ready_tasks.PLAIN
    ids = seed.scheduled(engine, spec)

    def fail_the_first() -> None:
        with engine.begin() as conn:
            conn.execute(
                text("UPDATE task_instance SET state = 'failed' WHERE id = :id"), {"id": ids[0]}
            )

    with just_before(engine, statement, fail_the_first):
        assert queue(replica) == ids[1:]


def test_a_pass_that_fails_queues_nothing(engine: Engine, replica: Replica) -> None:
    seed.scheduled(engine, seed.wide(2))

    def fail() -> None:
        raise FencedError("declared dead")

    with pytest.raises(FencedError):
        queue_tasks(replica, DEFAULT_POOL, seed.START, fail)

    assert states(engine) == {"scheduled": 2}


def test_a_task_that_somebody_moves_before_it_is_queued_stays_where_it_is(engine: Engine) -> None:
    """The lock keeps that from happening; the guard of the move would, too."""
    [first, second] = seed.scheduled(engine, seed.wide(2))
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE task_instance SET state = 'failed' WHERE id = :id"), {"id": first}
        )
        tasks.queue(conn, [first, second], seed.START, seed.SCHEDULER)

    assert seed.task_states(engine) == {"t0": "failed", "t1": "queued"}
    with engine.connect() as conn:
        assert conn.scalars(text("SELECT task_instance_id FROM task_attempt")).all() == [second]
