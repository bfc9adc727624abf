"""Clearing tasks of a run: they run again, and until then nothing is lost or done twice."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author, RunChange
from headway.actions.runs.clear import clear_tasks
from headway.db.reads import pool_views
from headway.db.scheduling import wakes
from headway.decide.changes.clear import Selection
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import (
    ConflictError,
    HeadwayError,
    RunNotFoundError,
    TaskNotFoundError,
)
from headway.domain.hints import Action, HintPart, act
from headway.domain.states import Outcome, RunState, TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.data.refusals import refused
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 10 * seed.DAY
RUN = f"scheduled__{seed.START.isoformat()}"
SECOND = f"scheduled__{(seed.START + seed.DAY).isoformat()}"
ANN = Author("user:ann", "late data")
NONE = TaskState.NONE

TASKS = text("""
    SELECT state, attempt, failures, losses, retry_at, started_at, ended_at, skips
      FROM task_instance WHERE task_id = :task ORDER BY map_index
""")
ATTEMPTS = text("""
    SELECT phase, outcome, stop_to FROM task_attempt ORDER BY task_instance_id, attempt
""")
END_RUN = text("""
    UPDATE dag_run SET state = :state, ended_at = now(), end_as = 'failed', deadline = now()
""")

CHAIN = seed.dag(seed.task("a"), seed.task("b", "a"), seed.task("c", "b"))


def clear(engine: Engine, *tasks: str, run_id: str = RUN, **options: Any) -> RunChange:
    with engine.begin() as conn:
        return clear_tasks(conn, "etl", run_id, Selection(tasks, **options), ANN)


def rows(engine: Engine, statement: str, **parameters: object) -> list[Any]:
    with engine.connect() as conn:
        return list(conn.execute(text(statement), parameters))


def task(engine: Engine, task_id: str) -> Any:
    with engine.connect() as conn:
        return conn.execute(TASKS, {"task": task_id}).one()


def attempts(engine: Engine) -> list[tuple[str | None, ...]]:
    with engine.connect() as conn:
        return [tuple(row) for row in conn.execute(ATTEMPTS)]


def ended(engine: Engine, spec: DagSpec, state: str, **states: str) -> int:
    """A run that has ended in that state, with its tasks in these."""
    run = seed.start_run(engine, spec)
    force(engine, run, **states)
    with engine.begin() as conn:
        wakes.take(conn, [run])
        conn.execute(END_RUN, {"state": state})
    return run


def settle(engine: Engine) -> int:
    """Start runs and settle them, as a scheduler does."""
    replica = Replica(engine, seed.register(engine), read(SchedulerSettings))
    start_runs(replica, NOW)
    return schedule_tasks(replica, NOW).runs


def test_a_failed_run_goes_on_where_it_was_cleared(engine: Engine) -> None:
    ended(engine, CHAIN, "failed", a="success", b="failed", c="upstream_failed")

    change = clear(engine, "b")

    assert change == RunChange(RunState.FAILED, RunState.QUEUED, {NONE: 2})
    assert seed.task_states(engine) == {"a": "success", "b": "none", "c": "none"}
    [run] = rows(engine, "SELECT state, started_at, ended_at, deadline, end_as FROM dag_run")
    assert run == ("queued", None, None, None, None)
    settle(engine)
    for _ in "bc":
        seed.finish(engine)
        settle(engine)
    assert seed.task_states(engine) == dict.fromkeys("abc", "success")
    assert seed.run_states(engine) == {"success": 1}


def test_a_cleared_task_has_all_its_retries_again(engine: Engine) -> None:
    ended(engine, CHAIN, "failed", a="failed")
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET failures = 3, losses = 2, skips = '{c}'"))

    clear(engine, "a")

    assert task(engine, "a") == ("none", 1, 0, 0, None, None, None, [])


def test_the_event_says_who_and_why_and_what_was_before(engine: Engine) -> None:
    ended(engine, CHAIN, "failed", a="success", b="failed", c="upstream_failed")
    clear(engine, "b")
    clear(engine, only_failed=False)

    journal = "SELECT actor, action, dag_id, run_id, task_id, details FROM event ORDER BY id"
    first, second = rows(engine, journal)

    assert first[:5] == ("user:ann", "task.clear", "etl", RUN, "b")
    assert first.details == {
        "reason": "late data",
        "tasks": ["b"],
        "map_index": None,
        "downstream": True,
        "only_failed": False,
        "only_running": False,
        "version": {"before": 1, "after": 1},
        "before": {
            "run": "failed",
            "tasks": {"b": {"failed": 1}, "c": {"upstream_failed": 1}},
        },
    }
    assert second[:5] == ("user:ann", "run.clear", "etl", RUN, None)
    assert second.details["before"] == {"run": "queued", "tasks": {"a": {"success": 1}}}


def test_a_change_that_is_rolled_back_leaves_no_event(engine: Engine) -> None:
    ended(engine, CHAIN, "failed", a="failed", b="upstream_failed", c="upstream_failed")

    with engine.connect() as conn:
        clear_tasks(conn, "etl", RUN, Selection(), ANN)

    assert rows(engine, "SELECT FROM event") == []
    assert seed.run_states(engine) == {"failed": 1}


def test_what_is_cleared_already_is_no_event(engine: Engine) -> None:
    run = seed.start_run(engine, CHAIN)
    force(engine, run, a="success")

    assert not clear(engine, "b")
    assert rows(engine, "SELECT FROM event") == []


def test_a_running_run_is_looked_at_as_a_whole(engine: Engine) -> None:
    run = seed.start_run(engine, CHAIN)
    force(engine, run, a="failed", b="upstream_failed", c="upstream_failed")
    with engine.begin() as conn:
        wakes.take(conn, [run])

    assert clear(engine).run is RunState.RUNNING
    assert settle(engine) == 1
    assert seed.task_states(engine) == {"a": "scheduled", "b": "none", "c": "none"}


def test_a_task_that_waits_for_its_retry_starts_at_once(engine: Engine) -> None:
    run = seed.start_run(engine, CHAIN)
    force(engine, run, a="up_for_retry")

    clear(engine, "a")
    settle(engine)

    assert seed.task_states(engine) == {"a": "scheduled", "b": "none", "c": "none"}


def test_a_queued_attempt_ends_and_its_task_is_decided_anew(engine: Engine) -> None:
    run = seed.start_run(engine, CHAIN)
    force(engine, run, a="queued")

    assert clear(engine, "a") == RunChange(RunState.RUNNING, RunState.RUNNING, {NONE: 1})
    assert attempts(engine) == [("ended", "cancelled", None)]
    settle(engine)
    seed.finish(engine)
    assert task(engine, "a")[:2] == ("success", 2)


def test_a_running_attempt_is_told_to_stop_and_runs_again_when_it_has(engine: Engine) -> None:
    run = seed.start_run(engine, CHAIN)
    key = force(engine, run, a="running")["a"]
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET failures = 1, losses = 1"))

    change = clear(engine, "a")

    assert (change.moved, change.stopping) == ({}, {NONE: 1})
    assert task(engine, "a").state == "restarting"
    assert attempts(engine) == [("stopping", None, "none")]
    settle(engine)
    assert seed.run_states(engine) == {"running": 1}
    assert seed.report(engine, [key], Outcome.CANCELLED, Next(TaskState.FAILED)) == {key}
    assert task(engine, "a")[:4] == ("none", 1, 0, 0)
    settle(engine)
    seed.finish(engine)
    settle(engine)
    assert seed.task_states(engine) == {"a": "success", "b": "scheduled", "c": "none"}


def test_a_success_that_comes_after_the_clearing_does_not_count(engine: Engine) -> None:
    """The worker had not heard yet; the user has asked for another run of the task."""
    run = seed.start_run(engine, CHAIN)
    key = force(engine, run, a="running")["a"]
    clear(engine, "a")

    seed.report(engine, [key])
    settle(engine)

    assert seed.task_states(engine) == {"a": "scheduled", "b": "none", "c": "none"}


def test_the_slots_are_held_until_what_was_told_to_stop_has(engine: Engine) -> None:
    """Hole 6 of Airflow: there a cleared task gives its slot away while it still runs."""
    run = seed.start_run(engine, CHAIN)
    key = force(engine, run, a="running")["a"]
    clear(engine, "a")

    def running() -> int:
        with engine.connect() as conn:
            return next(pool.running for pool in pool_views.pools(conn))

    assert running() == 1
    seed.report(engine, [key])
    assert running() == 0


def test_max_active_runs_holds_for_runs_that_start_again(engine: Engine) -> None:
    version = seed.store(engine, replace(CHAIN, max_active_runs=1))
    seed.create_runs(engine, version, [0, 1])
    settle(engine)
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET state = 'success', ended_at = now() WHERE id = 1"))
    force(engine, 1, a="success", b="success", c="success")
    settle(engine)

    assert clear(engine).run is RunState.QUEUED
    settle(engine)

    assert rows(engine, "SELECT id, state FROM dag_run ORDER BY id") == [
        (1, "queued"),
        (2, "running"),
    ]


def test_a_run_that_was_told_to_end_goes_on(engine: Engine) -> None:
    run = seed.start_run(engine, CHAIN)
    force(engine, run, a="running", b="skipped", c="skipped")
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET end_as = 'failed'"))

    clear(engine, "b")
    settle(engine)

    assert rows(engine, "SELECT end_as FROM dag_run") == [(None,)]
    assert seed.task_states(engine) == {"a": "running", "b": "none", "c": "none"}


@pytest.mark.parametrize(
    ("tasks", "run_id", "error", "message", "hints"),
    [
        (["lode"], RUN, TaskNotFoundError, "has no task 'lode' in", ["Did you mean load?"]),
        (["x"], RUN, TaskNotFoundError, "no task 'x'", [act(Action.SHOW_DAG, dag_id="etl")]),
        ([], RUN[:-1], RunNotFoundError, "no run", [f"Did you mean {RUN} or {SECOND}?"]),
        ([], "x", RunNotFoundError, "no run 'x'", [act(Action.LIST_RUNS, dag_id="etl")]),
        (["load"], SECOND, ConflictError, "is queued", []),
    ],
)
def test_what_is_not_there_is_told_with_what_is_near(
    engine: Engine,
    tasks: list[str],
    run_id: str,
    error: type[HeadwayError],
    message: str,
    hints: list[HintPart],
) -> None:
    spec = seed.dag(seed.task("load"))
    seed.start_run(engine, spec)
    with engine.connect() as conn:
        version = conn.scalar(text("SELECT id FROM dag_version"))
    assert version is not None
    seed.create_runs(engine, version, [1])

    with refused(error, message, *hints):
        clear(engine, *tasks, run_id=run_id)
