"""The events that call functions: each is one row, entered with what has happened."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from headway.actions.change import Author
from headway.actions.runs.cancel import cancel_run
from headway.actions.runs.delete import delete_run
from headway.actions.runs.mark import Marking, mark_tasks
from headway.db.execution import attempts, callbacks
from headway.db.execution.attempts import Report
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DagSpec
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway.testing.data.callbacks import ALL, caring, report, rows, runs
from headway.testing.data.known import known
from headway.testing.database.interleaving import in_background, wait_until_blocked
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.time_out import time_out
from headway_scheduler.replica.replica import Replica

ANN = Author("user:ann")
RETRY = Next(TaskState.UP_FOR_RETRY, timedelta(0))

OVERDUE = text("UPDATE dag_run SET deadline = :start WHERE state = 'running'")
LOSE = text("UPDATE task_attempt SET claimed_until = now() - interval '1 day'")


@pytest.mark.parametrize(
    ("outcome", "following", "event"),
    [
        (Outcome.SUCCESS, seed.SUCCESS, "success"),
        (Outcome.FAILED, Next(TaskState.FAILED), "failure"),
        (Outcome.TIMED_OUT, Next(TaskState.FAILED), "failure"),
        (Outcome.LOST, Next(TaskState.FAILED), "failure"),
        (Outcome.FAILED, RETRY, "retry"),
        (Outcome.LOST, RETRY, "retry"),
        (Outcome.SKIPPED, Next(TaskState.SKIPPED), "skipped"),
    ],
)
def test_the_end_of_an_attempt_is_one_event(
    engine: Engine, outcome: Outcome, following: Next, event: str
) -> None:
    [key] = seed.running(engine, caring(*ALL))

    assert report(engine, key, outcome, following)
    assert not report(engine, key, outcome, following)  # its answer was lost, so it comes again

    [row] = rows(engine)
    assert (row.task_id, row.map_index, row.attempt) == ("work", -1, 1)
    assert (row.event, row.reason, row.cause) == (event, outcome, "x")
    assert (row.state, row.tries) == ("queued", 0)


def test_what_the_task_has_no_functions_for_is_no_event(engine: Engine) -> None:
    [key] = seed.running(engine, caring(CallbackEvent.FAILURE))

    assert report(engine, key, events=(CallbackEvent.FAILURE,))
    assert rows(engine) == []


def test_a_report_that_is_refused_calls_nobody(engine: Engine) -> None:
    [key] = seed.running(engine, caring(*ALL))
    seed.report(engine, [key])

    assert not report(engine, key, Outcome.FAILED, Next(TaskState.FAILED))
    assert rows(engine) == []


def test_an_event_that_is_rolled_back_has_not_happened(engine: Engine) -> None:
    [key] = seed.running(engine, caring(*ALL))
    told = Report(key=key, outcome=Outcome.SUCCESS, following=seed.SUCCESS, callbacks=ALL)

    with engine.connect() as conn:
        attempts.report(conn, [told])
        conn.rollback()

    assert rows(engine) == []


@pytest.mark.parametrize(
    ("target", "events"),
    [
        (TaskState.SUCCESS, ["success"]),
        (TaskState.FAILED, ["failure"]),
        (TaskState.SKIPPED, []),
        (TaskState.NONE, []),
    ],
)
def test_one_that_was_told_to_stop_is_an_event_by_what_becomes_of_its_task(
    engine: Engine, target: TaskState, events: list[str]
) -> None:
    [key] = seed.running(engine, caring(*ALL))
    seed.tell_to_stop(engine, [key], target)

    assert report(engine, key, Outcome.CANCELLED, Next(TaskState.FAILED))
    assert [row.event for row in rows(engine)] == events


def test_a_mark_of_what_does_not_run_calls_nobody(engine: Engine) -> None:
    seed.scheduled(engine, caring(*ALL))
    [run] = [row.run_id for row in runs(engine)]

    with engine.begin() as conn:
        assert mark_tasks(conn, "etl", run, Marking(["work"], TaskState.FAILED), ANN)

    assert rows(engine) == []


def test_the_verdict_that_an_attempt_is_lost_is_an_event(engine: Engine, replica: Replica) -> None:
    """The scheduler finds what the task has functions for without its version being read."""
    seed.running(engine, caring(CallbackEvent.RETRY, CallbackEvent.FAILURE))
    with engine.begin() as conn:
        conn.execute(LOSE)

    adopt(replica)
    adopt(replica)

    [row] = rows(engine)
    assert (row.event, row.reason) == ("retry", "lost")
    assert "stopped renewing its lease" in known(row.cause)


@pytest.mark.parametrize(
    ("ends", "event", "reason"),
    [
        (Next(TaskState.SUCCESS), "success", "success"),
        (Next(TaskState.FAILED), "failure", "task_failure"),
    ],
)
def test_the_end_of_a_run_is_one_event(
    engine: Engine, replica: Replica, ends: Next, event: str, reason: str
) -> None:
    seed.scheduled(engine, caring(of_run=(CallbackEvent.SUCCESS, CallbackEvent.FAILURE)))
    told: list[str] = []

    seed.finish(engine, following=ends)
    for _ in range(2):
        schedule_tasks(replica, seed.START, called=lambda: told.append("called"))

    [row] = rows(engine)
    assert (row.task_id, row.map_index, row.attempt) == (None, None, None)
    assert (row.event, row.reason, row.cause) == (event, reason, None)
    assert told == ["called"]


def test_a_run_for_whose_end_there_are_no_functions_calls_nobody(
    engine: Engine, replica: Replica
) -> None:
    seed.scheduled(engine, caring(of_run=(CallbackEvent.FAILURE,)))
    told: list[str] = []

    seed.finish(engine)
    schedule_tasks(replica, seed.START, called=lambda: told.append("called"))

    assert seed.run_states(engine) == {"success": 1}
    assert (rows(engine), told) == ([], [])


def test_a_run_whose_time_is_over_says_so_when_it_has_ended(
    engine: Engine, replica: Replica
) -> None:
    [key] = seed.running(engine, caring(of_run=(CallbackEvent.FAILURE,)))
    with engine.begin() as conn:
        conn.execute(OVERDUE, {"start": seed.START})

    time_out(replica, seed.START)
    schedule_tasks(replica, seed.START)
    assert rows(engine) == []
    report(engine, key, Outcome.CANCELLED, Next(TaskState.FAILED))
    schedule_tasks(replica, seed.START)

    assert [(row.event, row.reason) for row in rows(engine)] == [("failure", "timed_out")]


def test_a_run_that_a_user_ends_calls_nobody(engine: Engine, replica: Replica) -> None:
    [key] = seed.running(engine, caring(of_run=(CallbackEvent.FAILURE,)))
    [run] = [row.run_id for row in runs(engine)]

    with engine.begin() as conn:
        cancel_run(conn, "etl", run, ANN)
    report(engine, key, Outcome.CANCELLED, Next(TaskState.FAILED))
    schedule_tasks(replica, seed.START)

    assert seed.run_states(engine) == {"failed": 1}
    assert [row.event for row in rows(engine)] == ["failure"]  # the task's, which was running


def test_an_event_has_one_row_whatever_a_program_asks_for(engine: Engine) -> None:
    [key] = seed.running(engine, caring(*ALL))
    report(engine, key)
    again = text("""
        INSERT INTO callback (dag_run_id, task_id, map_index, attempt, event, reason)
        SELECT dag_run_id, task_id, map_index, attempt, 'failure', 'failed' FROM callback
    """)
    with pytest.raises(IntegrityError, match="callback_dag_run_id_task_id"), engine.begin() as conn:
        conn.execute(again)


def test_a_report_and_a_deletion_of_its_run_do_not_hold_each_other_up_for_ever(
    engine: Engine,
) -> None:
    """The row of a callback refers to its run, which the deletion has locked."""
    [key] = seed.running(engine, caring(*ALL))
    [run] = runs(engine)
    told = Report(key=key, outcome=Outcome.SUCCESS, following=seed.SUCCESS, callbacks=ALL)

    def delete() -> int:
        with engine.begin() as conn:
            return delete_run(conn, "etl", run.run_id, ANN)

    with engine.connect() as conn:
        conn.execute(attempts.LOCK_TASKS, {"ids": [key.task_instance_id]})
        with in_background(delete) as deleting:
            wait_until_blocked(engine, 1)
            attempts.report(conn, [told])
            conn.commit()
            assert deleting.result() == 1

    assert rows(engine) == []


def test_what_a_task_has_functions_for_is_known_without_reading_its_version(
    engine: Engine,
) -> None:
    none: Callable[[], DagSpec] = caring
    version = seed.store(engine, caring(CallbackEvent.RETRY, CallbackEvent.FAILURE))
    plain = seed.store(engine, none())

    with engine.connect() as conn:
        assert callbacks.of_task(conn, version, "work") == (
            CallbackEvent.RETRY,
            CallbackEvent.FAILURE,
        )
        assert callbacks.of_task(conn, plain, "work") == ()
        assert callbacks.of_task(conn, plain, "gone") == ()
