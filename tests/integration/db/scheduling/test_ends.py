"""How attempts end: what becomes of the task, and what the scheduler is told."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, Row, text

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import attempts, leases
from headway.db.execution.attempts import Report
from headway.domain.dag.retry import Next
from headway.domain.states import TERMINAL, Outcome, TaskState
from headway.testing.data import seed
from headway.testing.database.interleaving import in_background, just_before, wait_until_blocked

RETRY = Next(TaskState.UP_FOR_RETRY, timedelta(seconds=90))
FAILED = Next(TaskState.FAILED)
SKIPPED = Next(TaskState.SKIPPED)

ENDS = [
    (Outcome.SUCCESS, seed.SUCCESS),
    (Outcome.SKIPPED, SKIPPED),
    (Outcome.FAILED, FAILED),
    (Outcome.FAILED, RETRY),
    (Outcome.TIMED_OUT, RETRY),
    (Outcome.LOST, RETRY),
    (Outcome.CANCELLED, FAILED),
]


def facts(engine: Engine) -> list[tuple[Any, ...]]:
    """What the scheduler is told, and has not settled: task, state and what it skips."""
    with engine.connect() as conn:
        rows = conn.execute(text("SELECT task_id, state, skips FROM wake ORDER BY task_id, state"))
        return [tuple(row) for row in rows]


def forget(engine: Engine) -> None:
    with engine.begin() as conn:
        conn.execute(text("DELETE FROM wake"))


def tasks(engine: Engine) -> list[Row[Any]]:
    with engine.connect() as conn:
        return list(conn.execute(text("SELECT * FROM task_instance ORDER BY id")))


def live(engine: Engine) -> int:
    """How many attempts hold the slots of their pool."""
    with engine.connect() as conn:
        return int(conn.scalar(text("SELECT count(*) FROM task_attempt WHERE ended_at IS NULL")))


@pytest.fixture
def key(engine: Engine) -> AttemptKey:
    """The one attempt that runs; whatever was to be settled before is."""
    [key] = seed.running(engine, seed.dag())
    forget(engine)
    return key


@pytest.mark.parametrize(
    ("outcome", "following"),
    [(outcome, following) for outcome, following in ENDS if following.state in TERMINAL],
)
def test_an_end_that_is_final_is_told_as_a_fact(
    engine: Engine, key: AttemptKey, outcome: Outcome, following: Next
) -> None:
    seed.report(engine, [key], outcome, following)

    assert facts(engine) == [("work", following.state, [])]


def test_an_end_that_leads_to_another_try_is_nothing_to_tell(
    engine: Engine, key: AttemptKey
) -> None:
    seed.report(engine, [key], Outcome.FAILED, RETRY)

    assert facts(engine) == []


def test_there_is_one_fact_for_each_instance_with_what_it_skips(engine: Engine) -> None:
    keys = seed.running(engine, seed.wide(3))
    forget(engine)
    reports = [Report(key=key, outcome=Outcome.SUCCESS, following=seed.SUCCESS) for key in keys]
    with engine.begin() as conn:
        attempts.report(conn, [replace(reports[0], skips=["left", "right"]), *reports[1:]])

    assert facts(engine) == [
        ("t0", "success", ["left", "right"]),
        ("t1", "success", []),
        ("t2", "success", []),
    ]


def test_a_report_that_is_refused_tells_nothing(engine: Engine, key: AttemptKey) -> None:
    seed.report(engine, [key])
    forget(engine)

    assert seed.report(engine, [key]) == set()
    assert seed.report(engine, [replace(key, attempt=2)]) == set()
    assert facts(engine) == []


@pytest.mark.parametrize(("outcome", "following"), ENDS)
@pytest.mark.parametrize("target", [TaskState.SUCCESS, TaskState.FAILED, TaskState.SKIPPED])
def test_one_that_was_told_to_stop_ends_as_it_was_told_whatever_it_says(
    engine: Engine, key: AttemptKey, target: TaskState, outcome: Outcome, following: Next
) -> None:
    seed.tell_to_stop(engine, [key], target)
    assert (seed.task_states(engine), live(engine)) == ({"work": "running"}, 1)

    assert seed.report(engine, [key], outcome, following) == {key}

    [task] = tasks(engine)
    assert (task.state, task.retry_at, task.failures, task.losses) == (target, None, 0, 0)
    assert task.ended_at is not None
    assert facts(engine) == [("work", target, [])]
    with engine.connect() as conn:
        assert attempts.reported(conn, key) is outcome
    assert live(engine) == 0


@pytest.mark.parametrize(("outcome", "following"), ENDS)
def test_one_that_was_cleared_is_undecided_again_and_its_run_looked_at_as_a_whole(
    engine: Engine, key: AttemptKey, outcome: Outcome, following: Next
) -> None:
    seed.tell_to_stop(engine, [key], TaskState.NONE)
    assert (seed.task_states(engine), live(engine)) == ({"work": "restarting"}, 1)

    assert seed.report(engine, [key], outcome, following) == {key}

    [task] = tasks(engine)
    assert (task.state, task.retry_at, task.failures, task.losses) == ("none", None, 0, 0)
    assert (task.started_at, task.ended_at) == (None, None)
    assert [(task_id, state) for task_id, state, _ in facts(engine)] == [(None, None)]


def test_what_one_that_was_told_to_stop_would_have_skipped_is_not(
    engine: Engine, key: AttemptKey
) -> None:
    seed.tell_to_stop(engine, [key], TaskState.FAILED)
    told = Report(key=key, outcome=Outcome.SUCCESS, following=seed.SUCCESS, skips=["left"])
    with engine.begin() as conn:
        attempts.report(conn, [told])

    assert tasks(engine)[0].skips == []
    assert facts(engine) == [("work", "failed", [])]


def test_the_last_word_of_a_user_counts(engine: Engine, key: AttemptKey) -> None:
    """Cleared while it ran, then marked as failed before it had stopped."""
    seed.tell_to_stop(engine, [key], TaskState.NONE)
    seed.tell_to_stop(engine, [key], TaskState.FAILED)
    assert seed.task_states(engine) == {"work": "restarting"}

    seed.report(engine, [key], Outcome.CANCELLED, FAILED)

    assert seed.task_states(engine) == {"work": "failed"}
    assert facts(engine) == [("work", "failed", [])]


def test_a_batch_may_have_some_that_were_told_to_stop(engine: Engine) -> None:
    cleared, marked, finished = seed.running(engine, seed.wide(3))
    forget(engine)
    seed.tell_to_stop(engine, [cleared], TaskState.NONE)
    seed.tell_to_stop(engine, [marked], TaskState.SKIPPED)

    assert seed.report(engine, [finished, marked, cleared]) == {cleared, marked, finished}

    assert seed.task_states(engine) == {"t0": "none", "t1": "skipped", "t2": "success"}
    assert [fact[:2] for fact in facts(engine)] == [
        ("t1", "skipped"),
        ("t2", "success"),
        (None, None),
    ]


def test_a_user_who_comes_just_before_the_report_has_it_his_way(
    engine: Engine, key: AttemptKey
) -> None:
    with just_before(
        engine, attempts.LOCK_TASKS, lambda: seed.tell_to_stop(engine, [key], TaskState.NONE)
    ):
        assert seed.report(engine, [key]) == {key}

    assert seed.task_states(engine) == {"work": "none"}


def test_a_report_waits_for_a_user_who_is_at_it(engine: Engine, key: AttemptKey) -> None:
    with engine.connect() as user:
        user.execute(attempts.LOCK_TASKS, {"ids": [key.task_instance_id]})
        with in_background(lambda: seed.report(engine, [key])) as reporting:
            wait_until_blocked(engine)
            stop = "UPDATE task_attempt SET phase = 'stopping', stop_to = 'skipped'"
            user.execute(text(stop))
            user.commit()
            assert reporting.result() == {key}

    assert seed.task_states(engine) == {"work": "skipped"}


def test_a_user_who_comes_while_it_is_reported_finds_it_ended(
    engine: Engine, key: AttemptKey
) -> None:
    with engine.connect() as worker:
        told = Report(key=key, outcome=Outcome.SUCCESS, following=seed.SUCCESS)
        attempts.report(worker, [told])
        with in_background(lambda: seed.tell_to_stop(engine, [key], TaskState.FAILED)) as telling:
            wait_until_blocked(engine)
            worker.commit()
            telling.result()

    assert seed.task_states(engine) == {"work": "success"}
    with engine.connect() as conn:
        assert leases.renew(conn, [key], 30) == {}
