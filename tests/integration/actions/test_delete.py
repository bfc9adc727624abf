"""Deleting runs: all that they have left goes with them, and nothing that still runs."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Engine, text

from headway.actions.backfills.control import cancel_backfill
from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.actions.change import Author
from headway.actions.runs.delete import delete_run
from headway.db.changes import run_changes
from headway.db.reads import backfill_views
from headway.db.scheduling import queued_runs, runs, wakes
from headway.decide.changes.backfill import Way
from headway.domain.backfill import Reprocess
from headway.domain.errors import ConflictError, NotFoundError, StillActiveError
from headway.domain.hints import Action, act
from headway.domain.states import RunState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.data.refusals import refused
from headway.testing.database.interleaving import just_before, waiting, waiting_before
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 10 * seed.DAY
RUN = f"scheduled__{seed.START.isoformat()}"
ANN = Author("user:ann")
WIDE = seed.dag(*map(seed.task, "abc"))
PAST = seed.dag(replace(seed.task("work"), depends_on_past=True))


@pytest.fixture
def replica(engine: Engine) -> Replica:
    return Replica(engine, seed.register(engine), read(SchedulerSettings))


def delete(engine: Engine, run_id: str = RUN) -> int:
    with engine.begin() as conn:
        return delete_run(conn, "etl", run_id, ANN)


def rows(engine: Engine, statement: str) -> list[Any]:
    with engine.connect() as conn:
        return list(conn.execute(text(statement)))


def settle(replica: Replica) -> None:
    start_runs(replica, NOW)
    schedule_tasks(replica, NOW)


@pytest.mark.parametrize("state", ["queued", "running", "restarting"])
def test_a_run_is_not_deleted_while_an_attempt_is_live(engine: Engine, state: str) -> None:
    run = seed.start_run(engine, WIDE)
    force(engine, run, b=state)

    cancel = act(Action.CANCEL_RUN, dag_id="etl", run_id=RUN)
    with refused(StillActiveError, f"while b is {state}", cancel):
        delete(engine)

    assert seed.run_states(engine) == {"running": 1}
    assert rows(engine, "SELECT FROM event") == []


def test_a_run_is_deleted_with_all_that_it_left_but_its_events(engine: Engine) -> None:
    run = seed.start_run(engine, seed.dag())
    seed.create_runs(engine, 1, [1])
    force(engine, run, work="success failed")
    with engine.begin() as conn:
        wakes.add(conn, [run, 4711])
        conn.execute(
            text(
                "INSERT INTO lease (task_instance_id, attempt, token, expires_at) VALUES "
                "(1, 1, gen_random_uuid(), now()), (4711, 1, gen_random_uuid(), now())"
            )
        )
        conn.execute(
            text("INSERT INTO xcom (task_instance_id, attempt, key, value) VALUES (1, 1, 'k', '1')")
        )

    assert delete(engine) == 2

    assert rows(engine, "SELECT id FROM dag_run") == [(run + 1,)]
    for table in ("task_instance", "task_attempt", "xcom"):
        assert rows(engine, f"SELECT FROM {table}") == [], table
    assert rows(engine, "SELECT task_instance_id FROM lease") == [(4711,)]
    assert rows(engine, "SELECT dag_run_id FROM wake WHERE dag_run_id <> 2") == [(4711,)]
    [event] = rows(engine, "SELECT action, run_id, details FROM event")
    assert event[:2] == ("run.delete", RUN)
    assert event.details["before"]["tasks"] == {"work": {"success": 1, "failed": 1}}


def test_a_deleted_run_that_is_rolled_back_is_still_there(engine: Engine) -> None:
    seed.start_run(engine, seed.dag())

    with engine.connect() as conn:
        delete_run(conn, "etl", RUN, ANN)

    assert seed.run_states(engine) == {"running": 1}
    assert rows(engine, "SELECT FROM event") == []


def test_what_waited_for_a_run_that_was_deleted_goes_on(engine: Engine, replica: Replica) -> None:
    seed.create_runs(engine, seed.store(engine, PAST), [0, 1, 2])
    settle(replica)
    force(engine, 1, work="failed")
    settle(replica)
    assert seed.task_states(engine, 2) == {"work": "none"}
    with engine.begin() as conn:
        wakes.take(conn, [1, 2, 3])

    delete(engine)

    assert rows(engine, "SELECT dag_run_id FROM wake") == [(2,)]
    settle(replica)

    assert seed.task_states(engine, 2) == {"work": "scheduled"}


def test_a_backfill_is_over_without_its_deleted_run(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    last = seed.START + seed.DAY
    with engine.begin() as conn:
        create_backfill(conn, BackfillRequest("etl", seed.START, last, {}), NOW, "user:ann")

    def planned() -> int:
        with engine.connect() as conn:
            return backfill_views.progress(conn)[0].planned

    assert planned() == 2
    delete(engine, f"backfill__{seed.START.isoformat()}")
    assert planned() == 1


@pytest.mark.parametrize("before", [True, False])
def test_a_run_that_a_backfill_takes_meanwhile_is_deleted_from_that(
    engine: Engine, before: bool
) -> None:
    """The run is of a backfill before, or of none."""
    first = last = seed.START
    version = seed.store(engine, seed.dag())
    if before:
        with engine.begin() as conn:
            create_backfill(conn, BackfillRequest("etl", first, last, {}), NOW, "user:ann")
    else:
        seed.create_runs(engine, version, [0])
    [(run, name)] = rows(engine, "SELECT id, run_id FROM dag_run")
    with engine.begin() as conn:
        queued_runs.start(conn, [run], NOW, seed.AGING)
        runs.settle(conn, {run: (0, RunState.FAILED)}, NOW)
    request = BackfillRequest("etl", first, last + seed.DAY, {}, way=Way(Reprocess.FAILED))

    with waiting(engine, lambda: delete(engine, name)) as begin, engine.begin() as conn:
        create_backfill(conn, request, NOW, "user:ann")
        begin()

    assert rows(engine, "SELECT planned FROM backfill ORDER BY id") == [(0,), (1,)][not before :]
    assert seed.run_states(engine) == {"queued": 1}


def test_a_run_that_is_not_there_cannot_be_deleted(engine: Engine) -> None:
    seed.start_run(engine, seed.dag())

    with pytest.raises(NotFoundError, match="has no run 'x'"):
        delete(engine, "x")


def test_a_run_is_not_deleted_while_a_task_of_it_is_being_queued(
    engine: Engine, replica: Replica
) -> None:
    seed.start_run(engine, seed.dag())
    seed.register(engine, "worker")

    def refused() -> None:
        with pytest.raises(ConflictError, match="while work is queued"):
            delete(engine)

    with waiting(engine, refused) as begin:
        queue_tasks(replica, "default_pool", NOW, before_commit=begin)

    assert rows(engine, "SELECT phase FROM task_attempt") == [("queued",)]


def test_a_run_is_deleted_once(engine: Engine) -> None:
    seed.start_run(engine, seed.dag())

    def too_late() -> None:
        with pytest.raises(NotFoundError):
            delete(engine)

    with waiting_before(engine, run_changes.LOCK_TASKS, too_late):
        delete(engine)

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM event")) == 1


def test_a_run_that_was_deleted_wakes_nobody(engine: Engine, replica: Replica) -> None:
    """The last words of the worker come while its run is being deleted, and are lost with it."""
    run = seed.start_run(engine, seed.dag())
    key = force(engine, run, work="running")["work"]

    with just_before(engine, run_changes.LOCK_TASKS, lambda: seed.report(engine, [key])):
        delete(engine)

    assert schedule_tasks(replica, NOW).runs == 0
    assert seed.run_states(engine) == {}


def due(replica: Replica, days: float) -> list[int]:
    """Create what is due after so many days; return the days that runs are about."""
    create_runs(replica, seed.START + days * seed.DAY)
    return [(start - seed.START).days for start in scheduled(replica.engine)]


def scheduled(engine: Engine) -> list[datetime]:
    starts = text("SELECT interval_start FROM dag_run ORDER BY interval_start")
    with engine.connect() as conn:
        return list(conn.scalars(starts))


@pytest.mark.regression
@pytest.mark.parametrize("catchup", [True, False])
def test_the_newest_run_that_is_deleted_is_created_again_at_once(
    engine: Engine, replica: Replica, catchup: bool
) -> None:
    """And not with the run after it, which is due a day later."""
    seed.store(engine, replace(seed.dag(), catchup=catchup))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET scheduled_since = :at"), {"at": seed.START})
    assert due(replica, 1.1) == [0]
    assert due(replica, 1.2) == [0]

    delete(engine)

    assert due(replica, 1.3) == [0]
    assert create_runs(replica, seed.START + 1.4 * seed.DAY) == 0


@pytest.mark.regression
def test_the_interval_of_a_deleted_backfill_run_is_due_at_once(
    engine: Engine, replica: Replica
) -> None:
    """The schedule had left it to the backfill."""
    backfilled(engine, replica)

    for day in (2, 3):
        delete(engine, f"backfill__{(seed.START + day * seed.DAY).isoformat()}")

    assert due(replica, 4.2) == [0, 1, 2, 3]


@pytest.mark.regression
def test_the_intervals_of_a_cancelled_backfill_are_due_at_once(
    engine: Engine, replica: Replica
) -> None:
    backfilled(engine, replica)

    with engine.begin() as conn:
        assert cancel_backfill(conn, 1, ANN).dropped == 3

    assert due(replica, 4.2) == [0, 1, 2, 3]


def backfilled(engine: Engine, replica: Replica) -> None:
    """Have a backfill of three days that the schedule, which is behind, has not come to."""
    seed.store(engine, replace(seed.dag(), max_active_runs=1))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET scheduled_since = :at"), {"at": seed.START})
    assert due(replica, 1.1) == [0]
    first, last = seed.START + seed.DAY, seed.START + 3 * seed.DAY
    with engine.begin() as conn:
        create_backfill(conn, BackfillRequest("etl", first, last, {}), NOW, "user:ann")
    with engine.begin() as conn:
        queued_runs.start(conn, [1], NOW, seed.AGING)
        runs.settle(conn, {1: (0, RunState.SUCCESS)}, NOW)
    assert due(replica, 4.1) == [0, 1, 2, 3]
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET max_active_runs = 9"))
