"""Every user action as headway_user, and the timeout as headway_scheduler: their grants suffice."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from headway.actions.backfills.control import cancel_backfill, set_backfill_paused
from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.actions.change import Author
from headway.actions.runs.cancel import cancel_run, cancel_tasks
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.delete import delete_run
from headway.actions.runs.mark import Marking, mark_run, mark_tasks
from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.db.access.logins import Login
from headway.db.changes import run_changes
from headway.db.reads import event_views
from headway.db.scheduling import runs
from headway.decide.changes.backfill import Way
from headway.decide.changes.clear import Selection
from headway.decide.changes.intervene import Intervention
from headway.domain.backfill import Reprocess
from headway.domain.dag.spec import MapInput, TimetableSpec
from headway.domain.states import Role, RunState, TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.database.logins import logged_in
from headway_scheduler.passes.time_out import time_out
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 10 * seed.DAY
RUN = f"scheduled__{seed.START.isoformat()}"
ANN = Author("user:ann", "a test")
SPEC = replace(
    seed.dag(
        seed.task("list"),
        replace(
            seed.task("work", "list"), mapped_over=(MapInput(argument="item", task_id="list"),)
        ),
        seed.task("sum", "work"),
    ),
    dagrun_timeout=60.0,
)

ACTIONS: dict[str, Callable[[Connection], object]] = {
    "clear": lambda conn: clear_tasks(conn, "etl", RUN, Selection(), ANN),
    "clear one": lambda conn: clear_tasks(conn, "etl", RUN, Selection(["sum"]), ANN),
    "mark": lambda conn: mark_tasks(conn, "etl", RUN, Marking(["sum"], TaskState.SUCCESS), ANN),
    "mark the run": lambda conn: mark_run(conn, "etl", RUN, RunState.SUCCESS, ANN),
    "cancel": lambda conn: cancel_run(conn, "etl", RUN, ANN),
    "cancel one": lambda conn: cancel_tasks(conn, ("etl", RUN), ["sum"], None, ANN),
    "read the journal": lambda conn: event_views.events(conn, "etl", RUN),
}


@pytest.fixture
def user(database_url: str) -> Iterator[Engine]:
    with logged_in(database_url, Login.USER) as engine:
        yield engine


@pytest.mark.parametrize("state", ["running", "queued", "up_for_retry", "none"])
@pytest.mark.parametrize("action", ACTIONS)
def test_a_user_may_do_what_users_do(engine: Engine, user: Engine, action: str, state: str) -> None:
    run = seed.start_run(engine, SPEC)
    force(engine, run, list="success", work="success failed", sum=state)

    with user.begin() as conn:
        ACTIONS[action](conn)


def test_a_user_may_clear_and_delete_what_has_ended(engine: Engine, user: Engine) -> None:
    version = seed.store(engine, SPEC)
    with user.begin() as conn:
        last = seed.START + seed.DAY
        create_backfill(conn, BackfillRequest("etl", seed.START, last, {}), NOW, "user:ann")
    [name] = _names(engine, "backfill", 1)
    with user.begin() as conn:
        mark_run(conn, "etl", name, RunState.FAILED, ANN)
        delete_run(conn, "etl", name, ANN)
    [run] = seed.create_runs(engine, version, [5])
    [name] = _names(engine, "scheduled", 1)
    with user.begin() as conn:
        cancel_run(conn, "etl", name, ANN)
        delete_run(conn, "etl", name, ANN)
    assert run not in _ids(engine)


def test_a_user_may_run_again_pause_and_cancel_a_backfill(engine: Engine, user: Engine) -> None:
    run = seed.start_run(engine, SPEC)
    force(engine, run, list="success", work="success failed", sum="upstream_failed")
    with engine.begin() as conn:
        runs.settle(conn, {run: (0, RunState.FAILED)}, NOW)
    last, way = seed.START + seed.DAY, Way(Reprocess.FAILED, rollup=2)

    with user.begin() as conn:
        request = BackfillRequest("etl", seed.START, last, {"a": 1}, way=way, version="latest")
        number = create_backfill(conn, request, NOW, "user:ann").id
    with user.begin() as conn:
        assert set_backfill_paused(conn, number, ANN, paused=True)
    with user.begin() as conn:
        done = cancel_backfill(conn, number, ANN)

    assert (done.dropped, done.ended) == (1, 1)


def test_a_user_may_trigger_a_run_of_the_future(engine: Engine, user: Engine) -> None:
    seed.store(engine, replace(seed.dag(), timetable=TimetableSpec(name="null")))
    request = TriggerRequest("etl", logical_date=NOW + seed.DAY, in_future=True)

    with user.begin() as conn:
        trigger(conn, request, NOW, "user:ann")


def test_a_change_without_an_event_is_refused_by_the_database(engine: Engine, user: Engine) -> None:
    """I6: what has ended changes only with a row in the journal in the same transaction."""
    run = seed.start_run(engine, seed.dag())
    force(engine, run, work="success")
    task = _ids(engine, "task_instance")[0]

    with pytest.raises(DBAPIError, match="may not move task_instance"), user.begin() as conn:
        run_changes.write(
            conn, Intervention({TaskState.NONE: [task]}), Role.USER, ("user:test", "test", None)
        )


def test_a_scheduler_may_time_a_run_out(engine: Engine, database_url: str) -> None:
    run = seed.start_run(engine, SPEC)
    force(engine, run, list="running", work="queued", sum="up_for_retry")
    me = seed.register(engine)

    with logged_in(database_url, Login.SCHEDULER) as scheduler:
        replica = Replica(scheduler, me, read(SchedulerSettings))
        assert time_out(replica, seed.START + timedelta(hours=1)) == 1


def _ids(engine: Engine, table: str = "dag_run") -> list[Any]:
    with engine.connect() as conn:
        return list(conn.scalars(text(f"SELECT id FROM {table}")))


def _names(engine: Engine, kind: str, limit: int) -> list[str]:
    with engine.connect() as conn:
        found = text("SELECT run_id FROM dag_run WHERE run_type = :kind ORDER BY id LIMIT :limit")
        return list(conn.scalars(found, {"kind": kind, "limit": limit}))
