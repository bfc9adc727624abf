"""depends_on_past: a task waits for itself in the run before, and is woken when that ends."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import Engine, text

from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.actions.change import Author
from headway.actions.runs.delete import delete_run
from headway.db.scheduling import queued_runs
from headway.decide.changes.backfill import Way
from headway.domain.backfill import Reprocess
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DagSpec
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

FAILED = Next(TaskState.FAILED)
LATER = seed.START + 30 * seed.DAY


def settle(replica: Replica) -> int:
    return schedule_tasks(replica, seed.START).runs


def holding_back() -> DagSpec:
    return seed.dag(replace(seed.task("work"), depends_on_past=True))


def start_days(engine: Engine, version: int, days: Sequence[int]) -> list[int]:
    ids = seed.create_runs(engine, version, days)
    with engine.begin() as conn:
        queued_runs.start(conn, ids, seed.START, seed.AGING)
    return ids


def backfilled(engine: Engine, first: int, last: int) -> int:
    """Backfill these days, those that have a run with that; return the run of the first."""
    since, until = (seed.START + day * seed.DAY for day in (first, last))
    request = BackfillRequest("etl", since, until, {}, 9, way=Way(Reprocess.COMPLETED))
    with engine.begin() as conn:
        create_backfill(conn, request, LATER, "user:ann")
        found = text("SELECT id FROM dag_run WHERE interval_start = :at")
        run: int = conn.execute(found, {"at": since}).scalar_one()
    return run


def test_a_task_waits_for_itself_in_the_run_before(engine: Engine, replica: Replica) -> None:
    first, second, third = start_days(engine, seed.store(engine, holding_back()), range(3))
    while settle(replica):
        pass
    assert seed.task_states(engine, first) == {"work": "scheduled"}
    assert seed.task_states(engine, second) == {"work": "none"}

    seed.finish(engine)
    while settle(replica):
        pass

    assert seed.task_states(engine, second) == {"work": "scheduled"}
    assert seed.task_states(engine, third) == {"work": "none"}


def make_manual(engine: Engine, run: int) -> None:
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET run_type = 'manual' WHERE id = :id"), {"id": run})


def around_a_manual_run(engine: Engine) -> tuple[int, int]:
    """Start two runs of the schedule; between them is a manual one that waits for its start."""
    first, manual, third = seed.create_runs(engine, seed.store(engine, holding_back()), range(3))
    make_manual(engine, manual)
    with engine.begin() as conn:
        queued_runs.start(conn, [first, third], seed.START, seed.AGING)
    return first, third


def test_a_manual_run_is_nobodys_past(engine: Engine, replica: Replica) -> None:
    """The run after it looks at the one before it, and is woken by that one."""
    first, third = around_a_manual_run(engine)
    while settle(replica):
        pass
    assert seed.task_states(engine, first) == {"work": "scheduled"}
    assert seed.task_states(engine, third) == {"work": "none"}

    seed.finish(engine)
    while settle(replica):
        pass

    assert seed.run_states(engine) == {"success": 1, "queued": 1, "running": 1}
    assert seed.task_states(engine, third) == {"work": "scheduled"}


def test_a_manual_run_that_fails_holds_nothing_up(engine: Engine, replica: Replica) -> None:
    manual, second = start_days(engine, seed.store(engine, holding_back()), range(2))
    make_manual(engine, manual)

    settle(replica)

    assert seed.task_states(engine, second) == {"work": "scheduled"}


def test_a_manual_run_itself_waits_for_the_run_of_the_schedule(
    engine: Engine, replica: Replica
) -> None:
    first, manual = start_days(engine, seed.store(engine, holding_back()), range(2))
    make_manual(engine, manual)
    while settle(replica):
        pass
    assert seed.task_states(engine, manual) == {"work": "none"}

    seed.finish(engine)
    while settle(replica):
        pass

    assert seed.task_states(engine, first) == {"work": "success"}
    assert seed.task_states(engine, manual) == {"work": "scheduled"}


def test_a_run_is_woken_when_the_one_before_is_deleted_beyond_a_manual_one(
    engine: Engine, replica: Replica
) -> None:
    first, third = around_a_manual_run(engine)
    while settle(replica):
        pass
    seed.finish(engine, Outcome.FAILED, FAILED)
    while settle(replica):
        pass
    assert seed.task_states(engine, third) == {"work": "none"}

    with engine.begin() as conn:
        name = conn.execute(text("SELECT run_id FROM dag_run WHERE id = :id"), {"id": first})
        delete_run(conn, "etl", str(name.scalar_one()), Author("user:ann"))
    while settle(replica):
        pass

    assert seed.task_states(engine, third) == {"work": "scheduled"}


def test_a_task_waits_while_the_run_before_has_not_started(
    engine: Engine, replica: Replica
) -> None:
    first, second = seed.create_runs(engine, seed.store(engine, holding_back()), [0, 1])
    with engine.begin() as conn:
        queued_runs.start(conn, [second], seed.START, seed.AGING)
    settle(replica)
    assert seed.task_states(engine, second) == {"work": "none"}

    with engine.begin() as conn:
        queued_runs.start(conn, [first], seed.START, seed.AGING)
    settle(replica)
    seed.finish(engine)
    while settle(replica):
        pass

    assert seed.task_states(engine, first) == {"work": "success"}
    assert seed.task_states(engine, second) == {"work": "scheduled"}


def test_a_failure_holds_back_the_run_after(engine: Engine, replica: Replica) -> None:
    _, second = start_days(engine, seed.store(engine, holding_back()), range(2))
    while settle(replica):
        pass
    seed.finish(engine, Outcome.FAILED, FAILED)
    while settle(replica):
        pass

    assert seed.task_states(engine, second) == {"work": "none"}
    assert seed.run_states(engine) == {"failed": 1, "running": 1}


def test_a_task_that_depends_on_its_past_since_this_version_is_woken(
    engine: Engine, replica: Replica
) -> None:
    """The run before is of a version in which nothing depended on the past."""
    first = seed.start_run(engine, seed.dag())
    second = seed.start_run(engine, holding_back(), day=1)
    while settle(replica):
        pass
    assert seed.task_states(engine, second) == {"work": "none"}

    seed.finish(engine)
    while settle(replica):
        pass

    assert seed.task_states(engine, first) == {"work": "success"}
    assert seed.task_states(engine, second) == {"work": "scheduled"}


def test_a_run_whose_past_is_being_settled_is_left_until_that_is_done(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    """It starts too late to be seen from there, and what is written there is not seen yet."""
    gated = seed.dag(seed.task("gate"), replace(seed.task("work", "gate"), depends_on_past=True))
    first = seed.start_run(engine, gated)
    settle(replica)
    seed.finish(engine, Outcome.SKIPPED, Next(TaskState.SKIPPED))
    [second] = seed.create_runs(engine, seed.store(engine, holding_back()), [1])
    other, looks = new_replica(), list[int]()

    def start_the_next_run() -> None:
        with engine.begin() as conn:
            queued_runs.start(conn, [second], seed.START, seed.AGING)
        looks.append(settle(other))

    schedule_tasks(replica, seed.START, before_commit=start_the_next_run)
    assert looks == [0]
    assert seed.task_states(engine, first) == {"gate": "skipped", "work": "skipped"}
    assert seed.task_states(engine, second) == {"work": "none"}

    settle(other)
    assert seed.task_states(engine, second) == {"work": "scheduled"}


def test_a_run_is_not_settled_while_the_run_after_it_looks_at_it(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    _, second = start_days(engine, seed.store(engine, holding_back()), range(2))
    settle(new_replica(max_dagruns_per_loop_to_schedule=1))
    other, looks = new_replica(), list[int]()

    def end_the_first_run() -> None:
        seed.finish(engine)
        looks.append(settle(other))

    assert schedule_tasks(replica, seed.START, before_commit=end_the_first_run).runs == 1
    assert looks == [0]
    assert seed.task_states(engine, second) == {"work": "none"}

    while settle(other):
        pass
    assert seed.task_states(engine, second) == {"work": "scheduled"}


def test_the_run_before_is_the_one_that_was_there_first(engine: Engine, replica: Replica) -> None:
    """A run for an earlier date that is created later holds nothing up, and waits for nothing."""
    version = seed.store(engine, holding_back())
    [later] = seed.create_runs(engine, version, [5])
    [earlier] = seed.create_runs(engine, version, [2])
    with engine.begin() as conn:
        queued_runs.start(conn, [later, earlier], seed.START, seed.AGING)

    settle(replica)

    assert seed.task_states(engine, later) == {"work": "scheduled"}
    assert seed.task_states(engine, earlier) == {"work": "scheduled"}


def run_second_day(engine: Engine, replica: Replica) -> int:
    """Let the run of the second day end, which is there first and has none before it."""
    [later] = start_days(engine, seed.store(engine, holding_back()), range(1, 2))
    settle(replica)
    seed.finish(engine)
    settle(replica)
    return later


def test_in_a_backfill_new_runs_and_those_that_run_again_wait_in_the_order_of_time(
    engine: Engine, replica: Replica
) -> None:
    later = run_second_day(engine, replica)
    earlier = backfilled(engine, 0, 1)
    start_runs(replica, LATER)
    while settle(replica):
        pass
    assert seed.task_states(engine, earlier) == {"work": "scheduled"}
    assert seed.task_states(engine, later) == {"work": "none"}

    seed.finish(engine)
    while settle(replica):
        pass
    assert seed.task_states(engine, later) == {"work": "scheduled"}


def test_a_run_waits_no_more_for_one_that_another_backfill_has_taken(
    engine: Engine, replica: Replica
) -> None:
    later = run_second_day(engine, replica)
    earlier = backfilled(engine, 0, 1)
    start_runs(replica, LATER)
    while settle(replica):
        pass
    seed.finish(engine, Outcome.FAILED, FAILED)
    while settle(replica):
        pass
    assert seed.task_states(engine, later) == {"work": "none"}

    assert backfilled(engine, 0, 0) == earlier
    settle(replica)

    assert seed.task_states(engine, later) == {"work": "scheduled"}


def test_a_run_that_is_deleted_from_a_backfill_holds_up_nothing(
    engine: Engine, replica: Replica
) -> None:
    later = run_second_day(engine, replica)
    backfilled(engine, 0, 1)
    with engine.begin() as conn:
        queued_runs.start(conn, [later], LATER, seed.AGING)
    settle(replica)
    assert seed.task_states(engine, later) == {"work": "none"}

    with engine.begin() as conn:
        delete_run(conn, "etl", f"backfill__{seed.START.isoformat()}", Author("user:ann"))
    settle(replica)

    assert seed.task_states(engine, later) == {"work": "scheduled"}
