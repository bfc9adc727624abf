"""The pass that starts runs: limits that hold whoever starts them."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.db.changes import run_end
from headway.db.core import events
from headway.db.core.events import Event
from headway.db.scheduling import queued_runs
from headway.db.users import backfill_plans
from headway.db.users.backfill_plans import NewBackfill
from headway.domain.dag.spec import DagSpec
from headway.domain.states import RunState
from headway.testing.data import seed
from headway.testing.database.interleaving import just_before
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 100 * seed.DAY


def limited(most: int, dag_id: str = "etl") -> DagSpec:
    return replace(seed.dag(dag_id=dag_id), max_active_runs=most)


def start(replica: Replica) -> int:
    return start_runs(replica, NOW)


def create_backfill(engine: Engine, most: int) -> int:
    with engine.begin() as conn:
        return backfill_plans.create(conn, NewBackfill("etl", seed.START, NOW, most))


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
    engine: Engine, replica: Replica
) -> None:
    seed.create_runs(engine, seed.store(engine, limited(2)), [3, 1, 2, 0])

    assert [start(replica), start(replica)] == [2, 0]
    assert active(engine) == [0, 1]

    end_runs(engine)
    assert start(replica) == 2
    assert active(engine) == [2, 3]


def test_where_more_are_active_than_may_be_none_starts(engine: Engine, replica: Replica) -> None:
    """The limit was lowered meanwhile."""
    seed.create_runs(engine, seed.store(engine, limited(3)), range(5))
    assert start(replica) == 3
    seed.store(engine, limited(1))

    assert start(replica) == 0


def test_two_schedulers_start_no_more_runs_than_may_be_active(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    """F3: the other one comes before the first has committed, and finds an older run, a new one."""
    version = seed.store(engine, limited(1))
    seed.create_runs(engine, version, [1, 2])
    other = new_replica()
    others: list[int] = []

    def let_the_other_run() -> None:
        seed.create_runs(engine, version, [0])
        others.append(start(other))

    mine = start_runs(replica, NOW, let_the_other_run)

    assert (mine, others) == (1, [0])
    assert active(engine) == [1]


def test_runs_are_counted_after_the_dag_is_locked(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    """Another scheduler starts a run just before this one gets its lock."""
    seed.create_runs(engine, seed.store(engine, limited(2)), [0, 1, 2])
    other = new_replica(max_dagruns_per_loop_to_schedule=1)

    with just_before(engine, queued_runs.LOCK_STARTING, lambda: start(other)):
        assert start(replica) == 1

    assert active(engine) == [0, 1]


def test_schedulers_start_runs_of_different_dags_side_by_side(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    for dag_id in ("one", "two"):
        seed.create_runs(engine, seed.store(engine, seed.dag(dag_id=dag_id)), [0])
    one_at_a_time, other = new_replica(max_dagruns_per_loop_to_schedule=1), new_replica()
    others: list[int] = []

    mine = start_runs(one_at_a_time, NOW, lambda: others.append(start(other)))

    assert (mine, others) == (1, [1])


def test_tasks_are_created_once(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    seed.create_runs(engine, seed.store(engine, seed.wide(3)), [0])
    other = new_replica()

    others: list[int] = []
    start_runs(replica, NOW, lambda: others.append(start(other)))
    with engine.begin() as conn:
        ids = list(conn.scalars(text("SELECT id FROM dag_run")))
        queued_runs.start(conn, ids, NOW + seed.DAY, seed.AGING)

    assert others == [0]
    assert len(seed.task_states(engine)) == 3
    with engine.connect() as conn:
        assert conn.execute(text("SELECT started_at, unfinished FROM dag_run")).one() == (NOW, 3)
        assert conn.scalar(text("SELECT count(*) FROM wake")) == 0


def test_a_backfill_and_the_schedule_do_not_hold_each_other_up(
    engine: Engine, replica: Replica
) -> None:
    version = seed.store(engine, limited(1))
    backfill = create_backfill(engine, most=2)
    seed.create_runs(engine, version, range(3), backfill)
    seed.create_runs(engine, version, [10, 11])

    start(replica)
    assert active(engine) == [0, 1, 10]

    end_runs(engine)
    start(replica)
    assert active(engine) == [2, 11]


def test_backfills_do_not_hold_each_other_up(engine: Engine, replica: Replica) -> None:
    """Of each as many as it may have; one that is full hides none of the others."""
    version = seed.store(engine, limited(1))
    for number, most in enumerate((1, 2, 1)):
        backfill = create_backfill(engine, most)
        seed.create_runs(engine, version, range(10 * number, 10 * number + 3), backfill)
        start(replica)
    assert active(engine) == [0, 10, 11, 20]

    seed.create_runs(engine, version, [90])
    assert start(replica) == 1
    assert active(engine) == [0, 10, 11, 20, 90]


def test_a_long_backfill_does_not_fill_the_batch(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    """Its runs are older than the schedule's, but may not start."""
    version = seed.store(engine, limited(1))
    backfill = create_backfill(engine, most=1)
    seed.create_runs(engine, version, range(30), backfill)
    few_at_a_time = new_replica(max_dagruns_per_loop_to_schedule=5)
    start(few_at_a_time)
    seed.create_runs(engine, version, [50])

    assert start(few_at_a_time) == 1
    assert active(engine) == [0, 50]


def test_dags_without_room_do_not_fill_the_batch(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    for number in range(5):
        full = seed.store(engine, limited(1, f"a{number}"))
        seed.create_runs(engine, full, [0, 1])
    start(replica)
    seed.create_runs(engine, seed.store(engine, limited(1, "z")), [20])

    assert start(new_replica(max_dagruns_per_loop_to_schedule=2)) == 1
    assert active(engine)[-1] == 20


def test_a_run_waits_for_its_time(engine: Engine, replica: Replica) -> None:
    seed.store(engine, seed.dag())
    with engine.begin() as conn:
        trigger(conn, TriggerRequest("etl", run_id="tomorrow"), NOW + seed.DAY, "user:test")

    assert start(replica) == 0
    assert start_runs(replica, NOW + seed.DAY) == 1


def test_a_run_that_waits_for_its_time_keeps_none_up(engine: Engine, replica: Replica) -> None:
    seed.create_runs(engine, seed.store(engine, limited(1)), [10])
    with engine.begin() as conn:
        trigger(conn, TriggerRequest("etl", run_id="tomorrow"), NOW + seed.DAY, "user:test")

    assert start(replica) == 1
    assert active(engine) == [10]


@pytest.mark.parametrize("change", ["paused = true", "active = false"])
def test_a_dag_that_is_not_scheduled_starts_no_run(
    engine: Engine, replica: Replica, change: str
) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    with engine.begin() as conn:
        conn.execute(text(f"UPDATE dag SET {change}"))

    assert start(replica) == 0


def test_a_run_that_was_ended_meanwhile_is_left_out(engine: Engine, replica: Replica) -> None:
    """A user ends it just before it is locked."""
    first, _ = seed.create_runs(engine, seed.store(engine, limited(2)), [0, 1])

    def end() -> None:
        with engine.begin() as conn:
            events.add(conn, Event(actor="user:test", action="run.cancel"))
            run_end.end(conn, first, RunState.FAILED)

    with just_before(engine, queued_runs.LOCK_QUEUED, end):
        assert start(replica) == 1

    assert seed.run_states(engine) == {"failed": 1, "running": 1}


def test_a_run_that_someone_else_holds_is_passed_over(engine: Engine, replica: Replica) -> None:
    """Another pass settles it, or a user acts on it: nobody waits for that."""
    held, free = seed.create_runs(engine, seed.store(engine, limited(2)), [0, 1])

    with engine.connect() as other:
        other.execute(text("SELECT FROM dag_run WHERE id = :id FOR NO KEY UPDATE"), {"id": held})
        assert start(replica) == 1

    with engine.connect() as conn:
        running = conn.scalars(text("SELECT id FROM dag_run WHERE state = 'running'")).all()
    assert running == [free]
