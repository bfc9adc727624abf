"""Marking tasks and runs: what their user says they are, without losing what runs."""

from typing import Any

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author, RunChange
from headway.actions.runs.mark import Marking, mark_run, mark_tasks
from headway.db.scheduling import wakes
from headway.domain.dag.retry import Next
from headway.domain.errors import ConflictError, NotFoundError
from headway.domain.states import Outcome, RunState, TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 10 * seed.DAY
RUN = f"scheduled__{seed.START.isoformat()}"
ANN = Author("user:ann")
SUCCESS, FAILED, SKIPPED, NONE = (
    TaskState.SUCCESS,
    TaskState.FAILED,
    TaskState.SKIPPED,
    TaskState.NONE,
)
CHAIN = seed.dag(seed.task("a"), seed.task("b", "a"), seed.task("c", "b"))
END_RUN = text("UPDATE dag_run SET state = :state, ended_at = now()")


def mark(engine: Engine, state: TaskState, *tasks: str, **options: Any) -> RunChange:
    with engine.begin() as conn:
        return mark_tasks(conn, "etl", RUN, Marking(tasks, state, **options), ANN)


def mark_it(engine: Engine, state: RunState) -> RunChange:
    with engine.begin() as conn:
        return mark_run(conn, "etl", RUN, state, ANN)


def rows(engine: Engine, statement: str) -> list[Any]:
    with engine.connect() as conn:
        return list(conn.execute(text(statement)))


def ended(engine: Engine, state: str, **states: str) -> None:
    run = seed.start_run(engine, CHAIN)
    force(engine, run, **states)
    with engine.begin() as conn:
        wakes.take(conn, [run])
        conn.execute(END_RUN, {"state": state})


def settle(engine: Engine) -> int:
    replica = Replica(engine, seed.register(engine), read(SchedulerSettings))
    start_runs(replica, NOW)
    return schedule_tasks(replica, NOW).runs


@pytest.mark.parametrize("state", [SUCCESS, SKIPPED])
def test_what_failed_for_the_task_is_decided_anew(engine: Engine, state: TaskState) -> None:
    run = seed.start_run(engine, CHAIN)
    force(engine, run, a="running", b="upstream_failed", c="upstream_failed")

    change = mark(engine, state, "a")

    assert (change.moved, change.stopping) == ({NONE: 2}, {state: 1})
    assert seed.task_states(engine) == {"a": "running", "b": "none", "c": "none"}


def test_a_failed_run_goes_on_below_a_task_that_was_marked_success(engine: Engine) -> None:
    ended(engine, "failed", a="failed", b="upstream_failed", c="upstream_failed")

    change = mark(engine, SUCCESS, "a")

    assert change == RunChange(RunState.FAILED, RunState.QUEUED, {SUCCESS: 1, NONE: 2})
    settle(engine)
    assert seed.task_states(engine) == {"a": "success", "b": "scheduled", "c": "none"}


def test_what_lies_below_stays_if_that_is_asked_for(engine: Engine) -> None:
    ended(engine, "failed", a="failed", b="upstream_failed", c="upstream_failed")

    mark(engine, SUCCESS, "a", downstream=False)
    settle(engine)

    assert seed.task_states(engine)["b"] == "upstream_failed"
    assert seed.run_states(engine) == {"failed": 1}


def test_what_succeeded_below_stays_as_it_is(engine: Engine) -> None:
    ended(engine, "failed", a="failed", b="success", c="failed")

    mark(engine, SUCCESS, "a")

    assert seed.task_states(engine) == {"a": "success", "b": "success", "c": "none"}


def test_a_run_ends_as_its_tasks_stand_after_the_marking(engine: Engine) -> None:
    ended(engine, "success", a="success", b="success", c="success")

    mark(engine, FAILED, "c")
    settle(engine)

    assert seed.run_states(engine) == {"failed": 1}


def test_a_task_that_has_not_begun_fails_and_so_does_what_waits_for_it(engine: Engine) -> None:
    run = seed.start_run(engine, CHAIN)
    with engine.begin() as conn:
        wakes.take(conn, [run])

    mark(engine, FAILED, "b")
    settle(engine)

    assert seed.task_states(engine) == {"a": "scheduled", "b": "failed", "c": "upstream_failed"}
    assert rows(engine, "SELECT ended_at IS NULL FROM task_instance WHERE task_id = 'b'") == [
        (False,)
    ]


@pytest.mark.parametrize("state", [SUCCESS, FAILED, SKIPPED])
def test_a_running_task_becomes_it_when_it_has_stopped(engine: Engine, state: TaskState) -> None:
    run = seed.start_run(engine, CHAIN)
    key = force(engine, run, a="running", b="success", c="success")["a"]
    with engine.begin() as conn:
        wakes.take(conn, [run])

    assert mark(engine, state, "a").stopping == {state: 1}
    assert rows(engine, "SELECT phase, stop_to FROM task_attempt WHERE ended_at IS NULL") == [
        ("stopping", state)
    ]
    settle(engine)
    assert seed.run_states(engine) == {"running": 1}
    seed.report(engine, [key], Outcome.CANCELLED, Next(FAILED))
    settle(engine)

    assert seed.task_states(engine)["a"] == state
    assert not seed.run_states(engine)["running"]


def test_a_task_that_restarts_may_be_marked_before_it_has_stopped(engine: Engine) -> None:
    run = seed.start_run(engine, CHAIN)
    key = force(engine, run, a="restarting")["a"]

    mark(engine, SUCCESS, "a")
    seed.report(engine, [key], Outcome.CANCELLED, Next(FAILED))

    assert seed.task_states(engine)["a"] == "success"


def test_a_queued_attempt_is_withdrawn(engine: Engine) -> None:
    run = seed.start_run(engine, CHAIN)
    force(engine, run, a="queued")

    mark(engine, SUCCESS, "a")

    assert seed.task_states(engine)["a"] == "success"
    assert rows(engine, "SELECT phase, outcome FROM task_attempt") == [("ended", "cancelled")]
    assert seed.claim(engine, seed.register(engine, "worker")) == []


def test_a_retry_that_is_marked_does_not_come(engine: Engine) -> None:
    run = seed.start_run(engine, CHAIN)
    force(engine, run, a="up_for_retry")

    mark(engine, SUCCESS, "a")

    assert rows(engine, "SELECT state, retry_at FROM task_instance WHERE task_id = 'a'") == [
        ("success", None)
    ]


def test_what_a_marked_branch_chose_is_forgotten(engine: Engine) -> None:
    run = seed.start_run(engine, CHAIN)
    force(engine, run, a="success")
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET skips = '{b}' WHERE task_id = 'a'"))

    mark(engine, FAILED, "a")
    settle(engine)

    assert seed.task_states(engine)["b"] == "upstream_failed"


def test_what_is_so_already_is_no_event(engine: Engine) -> None:
    ended(engine, "failed", a="failed", b="upstream_failed", c="upstream_failed")

    assert not mark(engine, FAILED, "a")
    assert not mark_it(engine, RunState.FAILED)
    assert rows(engine, "SELECT FROM event") == []
    assert seed.run_states(engine) == {"failed": 1}


def test_what_has_ended_cannot_be_skipped(engine: Engine) -> None:
    ended(engine, "success", a="success", b="success", c="success")

    with pytest.raises(ConflictError, match=r"a is success.* cannot be marked skipped; clear it"):
        mark(engine, SKIPPED, "a")
    with pytest.raises(NotFoundError, match="has no task 'd'"):
        mark(engine, SUCCESS, "d")
    assert rows(engine, "SELECT FROM event") == []


def test_the_event_says_what_was_before(engine: Engine) -> None:
    ended(engine, "failed", a="failed", b="upstream_failed", c="success")

    mark(engine, SUCCESS, "a")

    [event] = rows(engine, "SELECT actor, action, run_id, task_id, details FROM event")
    assert event[:4] == ("user:ann", "task.mark", RUN, "a")
    assert event.details == {
        "tasks": ["a"],
        "as": "success",
        "map_index": None,
        "before": {
            "run": "failed",
            "tasks": {"a": {"failed": 1}, "b": {"upstream_failed": 1}},
        },
    }


@pytest.mark.parametrize(("was", "state"), [("failed", "success"), ("success", "failed")])
def test_a_run_that_has_ended_is_called_otherwise(engine: Engine, was: str, state: str) -> None:
    ended(engine, was, a="failed", b="upstream_failed", c="upstream_failed")

    assert mark_it(engine, RunState(state)) == RunChange(RunState(was), RunState(state))

    assert seed.run_states(engine) == {state: 1}
    assert seed.task_states(engine)["a"] == "failed"
    [event] = rows(engine, "SELECT action, details FROM event")
    assert (event.action, event.details["before"]) == ("run.mark", {"run": was, "tasks": {}})


@pytest.mark.parametrize("state", [RunState.SUCCESS, RunState.FAILED])
def test_a_running_run_ends_as_it_was_marked_when_nothing_runs(
    engine: Engine, state: RunState
) -> None:
    run = seed.start_run(engine, CHAIN)
    key = force(engine, run, a="running", b="success")["a"]

    change = mark_it(engine, state)
    settle(engine)

    assert change == RunChange(
        RunState.RUNNING, RunState.RUNNING, {SKIPPED: 1}, {TaskState(state): 1}, ends=state
    )
    assert seed.run_states(engine) == {"running": 1}
    seed.report(engine, [key], Outcome.CANCELLED, Next(FAILED))
    settle(engine)
    assert seed.run_states(engine) == {state: 1}
    assert seed.task_states(engine) == {"a": state, "b": "success", "c": "skipped"}


def test_a_run_that_waits_ends_at_once(engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, CHAIN), [0])

    change = mark_it(engine, RunState.SUCCESS)
    settle(engine)

    assert change == RunChange(RunState.QUEUED, RunState.SUCCESS)
    assert seed.run_states(engine) == {"success": 1}
    assert seed.task_states(engine) == {}
