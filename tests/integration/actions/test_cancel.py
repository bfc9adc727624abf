"""Cancelling runs and tasks: what runs holds its place until it has stopped."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author, RunChange
from headway.actions.runs.cancel import cancel_run, cancel_tasks
from headway.db.execution import attempts
from headway.db.execution.attempts import Report
from headway.db.reads import pool_views
from headway.domain.dag.retry import Next
from headway.domain.errors import AlreadyEndedError, ConflictError, NotFoundError
from headway.domain.hints import Action, act
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
ANN = Author("user:ann", "wrong input")
FAILED, SKIPPED = TaskState.FAILED, TaskState.SKIPPED
CANCELLED = Next(FAILED)
WIDE = seed.dag(*map(seed.task, "abcdefg"))
PAST = seed.dag(replace(seed.task("work"), depends_on_past=True))


def cancel(engine: Engine, *tasks: str, map_index: int | None = None) -> RunChange:
    with engine.begin() as conn:
        if tasks:
            return cancel_tasks(conn, ("etl", RUN), tasks, map_index, ANN)
        return cancel_run(conn, "etl", RUN, ANN)


def rows(engine: Engine, statement: str) -> list[Any]:
    with engine.connect() as conn:
        return list(conn.execute(text(statement)))


def settle(engine: Engine) -> int:
    replica = Replica(engine, seed.register(engine), read(SchedulerSettings))
    start_runs(replica, NOW)
    return schedule_tasks(replica, NOW).runs


def test_a_cancelled_run_fails_when_what_ran_has_stopped(engine: Engine) -> None:
    run = seed.start_run(engine, WIDE)
    keys = force(
        engine,
        run,
        a="running",
        b="queued",
        c="scheduled",
        d="up_for_retry",
        e="deferred",
        f="success",
        g="restarting",
    )

    change = cancel(engine)

    assert change == RunChange(
        RunState.RUNNING,
        RunState.RUNNING,
        {SKIPPED: 4},
        {FAILED: 2},
        ends=RunState.FAILED,
    )
    settle(engine)
    assert seed.run_states(engine) == {"running": 1}
    assert seed.claim(engine, seed.register(engine, "worker")) == []
    for left, key in enumerate(reversed(keys.values())):
        assert seed.run_states(engine) == {"running": 1}
        seed.report(engine, [key], Outcome.CANCELLED, CANCELLED)
        settle(engine)
        assert left < 2
    assert seed.run_states(engine) == {"failed": 1}
    assert seed.task_states(engine) == {
        **dict.fromkeys("ag", "failed"),
        **dict.fromkeys("bcde", "skipped"),
        "f": "success",
    }


@pytest.mark.regression
@pytest.mark.parametrize(("tasks", "action"), [(["a", "b"], "task.cancel"), ([], "run.cancel")])
def test_an_attempt_that_is_cancelled_says_by_whom(
    tasks: list[str], action: str, engine: Engine
) -> None:
    run = seed.start_run(engine, WIDE)
    keys = force(engine, run, a="running", b="queued", c="running")
    cancel(engine, *tasks)
    told = Report(key=keys["a"], outcome=Outcome.CANCELLED, following=CANCELLED, error="Told.")
    with engine.begin() as conn:
        attempts.report(conn, [told])

    errors = rows(
        engine,
        "SELECT task_id, error FROM task_attempt JOIN task_instance ON id = task_instance_id "
        "WHERE task_attempt.ended_at IS NOT NULL ORDER BY 1",
    )
    order = f"The order came from user:ann ({action}): wrong input"
    assert [tuple(row) for row in errors] == [
        ("a", f"Told. {order}"),
        ("b", f"Withdrawn before a worker began it. {order}"),
    ]


def test_one_that_succeeds_before_it_hears_of_it_has_no_error(engine: Engine) -> None:
    run = seed.start_run(engine, WIDE)
    keys = force(engine, run, a="running")
    cancel(engine)
    seed.report(engine, [keys["a"]])

    [row] = rows(engine, "SELECT outcome, error FROM task_attempt WHERE ended_at IS NOT NULL")
    assert tuple(row) == ("success", None)


def test_a_cancelled_run_holds_its_slots_until_it_has_stopped(engine: Engine) -> None:
    run = seed.start_run(engine, WIDE)
    keys = force(engine, run, a="running", b="running", c="queued")

    def occupied() -> int:
        with engine.connect() as conn:
            [pool] = pool_views.pools(conn)
        return pool.running + pool.queued

    assert occupied() == 3
    cancel(engine)
    assert occupied() == 2
    seed.report(engine, [keys["a"]])
    assert occupied() == 1


def test_a_run_may_be_cancelled_again_while_it_stops(engine: Engine) -> None:
    run = seed.start_run(engine, WIDE)
    force(engine, run, a="running")

    assert cancel(engine).moved == {SKIPPED: 6}
    assert cancel(engine).stopping == {FAILED: 1}


def test_the_event_says_what_was_before(engine: Engine) -> None:
    run = seed.start_run(engine, seed.dag())
    force(engine, run, work="running")

    cancel(engine)

    [event] = rows(engine, "SELECT actor, action, run_id, task_id, details FROM event")
    assert event == (
        *("user:ann", "run.cancel", RUN, None),
        {
            "reason": "wrong input",
            "before": {"run": "running", "tasks": {"work": {"running": 1}}},
        },
    )


def test_a_run_that_waits_fails_at_once(engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])

    assert cancel(engine) == RunChange(RunState.QUEUED, RunState.FAILED)
    [run] = rows(engine, "SELECT state, started_at = ended_at AS ended FROM dag_run")
    assert run == ("failed", True)


def test_a_run_that_has_ended_cannot_be_cancelled(engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    cancel(engine)

    again = act(Action.CLEAR_RUN, dag_id="etl", run_id=RUN)
    with refused(AlreadyEndedError, r"has ended \(failed\)", again):
        cancel(engine)


def test_what_waited_for_a_run_that_was_cancelled_goes_on(engine: Engine) -> None:
    """depends_on_past: the run before was never started, and nothing else tells of its end."""
    seed.create_runs(engine, seed.store(engine, replace(PAST, max_active_runs=1)), [0, 1])
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET run_after = :late WHERE id = 1"), {"late": NOW})
    replica = Replica(engine, seed.register(engine), read(SchedulerSettings))
    start_runs(replica, NOW - seed.DAY)
    schedule_tasks(replica, NOW)
    assert seed.task_states(engine, 2) == {"work": "none"}

    cancel(engine)
    schedule_tasks(replica, NOW)

    assert seed.task_states(engine, 2) == {"work": "scheduled"}


def test_tasks_are_cancelled_and_the_rest_goes_on(engine: Engine) -> None:
    run = seed.start_run(engine, WIDE)
    key = force(engine, run, a="running", b="queued", c="scheduled", d="success")["a"]

    change = cancel(engine, "a", "b", "c", "d")
    seed.report(engine, [key], Outcome.CANCELLED, CANCELLED)
    settle(engine)

    assert (change.moved, change.stopping) == ({SKIPPED: 2}, {FAILED: 1})
    states = seed.task_states(engine)
    assert [states[task] for task in "abcde"] == [
        *("failed", "skipped", "skipped", "success", "scheduled")
    ]
    assert seed.run_states(engine) == {"running": 1}


def test_one_instance_of_a_mapped_task_is_cancelled(engine: Engine) -> None:
    run = seed.start_run(engine, seed.dag())
    force(engine, run, work="running running")

    assert cancel(engine, "work", map_index=1).stopping == {FAILED: 1}
    assert rows(engine, "SELECT phase FROM task_attempt ORDER BY task_instance_id") == [
        ("running",),
        ("stopping",),
    ]


def test_tasks_that_have_ended_cannot_be_cancelled(engine: Engine) -> None:
    run = seed.start_run(engine, WIDE)
    force(engine, run, a="success", b="failed")

    with pytest.raises(ConflictError, match=r"has ended \(failed, success\).*nothing to cancel"):
        cancel(engine, "a", "b")
    with pytest.raises(NotFoundError, match="no task 'z'"):
        cancel(engine, "z")
    assert rows(engine, "SELECT FROM event") == []
