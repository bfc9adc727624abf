"""The pass that starts runs: limits that hold whoever starts them."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from headway.actions.trigger import trigger
from headway.db import backfills, dags, runs
from headway.db.processes import Identity
from headway.domain.spec import DagSpec
from headway.testing import seed
from headway.testing.interleaving import just_before
from headway_scheduler.passes.start_runs import start_runs

NOW = seed.START + 100 * seed.DAY


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine)


def limited(most: int, dag_id: str = "etl") -> DagSpec:
    return replace(seed.dag(dag_id=dag_id), max_active_runs=most)


def start(engine: Engine, me: Identity, limit: int = 20) -> int:
    return start_runs(engine, me, NOW, limit)


def create_backfill(engine: Engine, most: int) -> int:
    with engine.begin() as conn:
        return backfills.create(conn, "etl", seed.START, NOW, most)


def active(engine: Engine) -> list[int]:
    """Return the days after the start that have a run that is running."""
    starts = text("SELECT interval_start FROM dag_run WHERE state = 'running' ORDER BY 1")
    with engine.connect() as conn:
        return [(start - seed.START).days for start in conn.scalars(starts)]


def end_runs(engine: Engine) -> None:
    end = text("UPDATE dag_run SET state = 'success', ended_at = now() WHERE state = 'running'")
    with engine.begin() as conn:
        conn.execute(end)


def test_the_oldest_runs_start_first_and_no_more_than_may_be_active(
    engine: Engine, me: Identity
) -> None:
    seed.create_runs(engine, seed.store(engine, limited(2)), [3, 1, 2, 0])

    assert [start(engine, me), start(engine, me)] == [2, 0]
    assert active(engine) == [0, 1]

    end_runs(engine)
    assert start(engine, me) == 2
    assert active(engine) == [2, 3]


def test_a_started_run_gets_its_tasks_and_is_looked_at(engine: Engine, me: Identity) -> None:
    tasks = (seed.task("extract"), replace(seed.task("load", "extract"), pool="db", pool_slots=2))
    [run_id] = seed.create_runs(engine, seed.store(engine, seed.dag(*tasks)), [0])

    start(engine, me)

    with engine.connect() as conn:
        found = text("SELECT task_id, state, attempt, pool, pool_slots FROM task_instance")
        assert conn.execute(found).all() == [
            ("extract", "none", 0, "default_pool", 1),
            ("load", "none", 0, "db", 2),
        ]
        assert list(conn.scalars(text("SELECT dag_run_id FROM wake"))) == [run_id]
        assert conn.scalar(text("SELECT started_at FROM dag_run")) == NOW


def test_two_schedulers_start_no_more_runs_than_may_be_active(engine: Engine, me: Identity) -> None:
    """The other one comes before the first has committed, and finds an older run, a new one."""
    version = seed.store(engine, limited(1))
    seed.create_runs(engine, version, [1, 2])
    other = seed.register(engine)
    others: list[int] = []

    def let_the_other_run() -> None:
        seed.create_runs(engine, version, [0])
        others.append(start(engine, other))

    mine = start_runs(engine, me, NOW, 20, let_the_other_run)

    assert (mine, others) == (1, [0])
    assert active(engine) == [1]


def test_runs_are_counted_after_the_dag_is_locked(engine: Engine, me: Identity) -> None:
    """Another scheduler starts a run just before this one gets its lock."""
    seed.create_runs(engine, seed.store(engine, limited(2)), [0, 1, 2])
    other = seed.register(engine)

    with just_before(engine, dags.LOCK_STARTING, lambda: start(engine, other, limit=1)):
        assert start(engine, me) == 1

    assert active(engine) == [0, 1]


def test_schedulers_start_runs_of_different_dags_side_by_side(engine: Engine, me: Identity) -> None:
    for dag_id in ("one", "two"):
        seed.create_runs(engine, seed.store(engine, seed.dag(dag_id=dag_id)), [0])
    other = seed.register(engine)
    others: list[int] = []

    mine = start_runs(engine, me, NOW, 1, lambda: others.append(start(engine, other)))

    assert (mine, others) == (1, [1])


def test_tasks_are_created_once(engine: Engine, me: Identity) -> None:
    seed.create_runs(engine, seed.store(engine, seed.wide(3)), [0])
    other = seed.register(engine)

    others: list[int] = []
    start_runs(engine, me, NOW, 20, lambda: others.append(start(engine, other)))
    with engine.begin() as conn:
        runs.start(conn, list(conn.scalars(text("SELECT id FROM dag_run"))), NOW)

    assert others == [0]
    assert len(seed.task_states(engine)) == 3


def test_a_backfill_and_the_schedule_do_not_hold_each_other_up(
    engine: Engine, me: Identity
) -> None:
    version = seed.store(engine, limited(1))
    backfill = create_backfill(engine, most=2)
    seed.create_runs(engine, version, range(3), backfill)
    seed.create_runs(engine, version, [10, 11])

    start(engine, me)
    assert active(engine) == [0, 1, 10]

    end_runs(engine)
    start(engine, me)
    assert active(engine) == [2, 11]


def test_a_long_backfill_does_not_fill_the_batch(engine: Engine, me: Identity) -> None:
    """Its runs are older than the schedule's, but may not start."""
    version = seed.store(engine, limited(1))
    backfill = create_backfill(engine, most=1)
    seed.create_runs(engine, version, range(30), backfill)
    start(engine, me)
    seed.create_runs(engine, version, [50])

    assert start(engine, me, limit=5) == 1
    assert active(engine) == [0, 50]


def test_dags_without_room_do_not_fill_the_batch(engine: Engine, me: Identity) -> None:
    for number in range(5):
        full = seed.store(engine, limited(1, f"a{number}"))
        seed.create_runs(engine, full, [0, 1])
    start(engine, me)
    seed.create_runs(engine, seed.store(engine, limited(1, "z")), [20])

    assert start(engine, me, limit=2) == 1
    assert active(engine)[-1] == 20


def test_a_run_waits_for_its_time(engine: Engine, me: Identity) -> None:
    seed.store(engine, seed.dag())
    with engine.begin() as conn:
        trigger(conn, "etl", NOW + seed.DAY, "user:test", {}, "tomorrow")

    assert start(engine, me) == 0
    assert start_runs(engine, me, NOW + seed.DAY, 20) == 1


def test_a_run_that_waits_for_its_time_keeps_none_up(engine: Engine, me: Identity) -> None:
    seed.create_runs(engine, seed.store(engine, limited(1)), [10])
    with engine.begin() as conn:
        trigger(conn, "etl", NOW + seed.DAY, "user:test", {}, "tomorrow")

    assert start(engine, me) == 1
    assert active(engine) == [10]


@pytest.mark.parametrize("change", ["paused = true", "active = false"])
def test_a_dag_that_is_not_scheduled_starts_no_run(
    engine: Engine, me: Identity, change: str
) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    with engine.begin() as conn:
        conn.execute(text(f"UPDATE dag SET {change}"))

    assert start(engine, me) == 0


def test_a_run_that_someone_else_holds_is_passed_over(engine: Engine, me: Identity) -> None:
    """Another pass settles it, or a user acts on it: nobody waits for that."""
    held, free = seed.create_runs(engine, seed.store(engine, limited(2)), [0, 1])

    with engine.connect() as other:
        other.execute(text("SELECT FROM dag_run WHERE id = :id FOR NO KEY UPDATE"), {"id": held})
        assert start(engine, me) == 1

    with engine.connect() as conn:
        running = conn.scalars(text("SELECT id FROM dag_run WHERE state = 'running'")).all()
    assert running == [free]
