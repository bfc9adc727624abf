"""What attempts do in Spark: told by whoever holds the token, summed up, found by the next one."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author
from headway.actions.runs.clear import clear_tasks
from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import handles, spark_work
from headway.db.execution.attempts import Claimed
from headway.db.execution.spark_work import PriorAttempt, SparkNews
from headway.db.reads import spark_views, task_views
from headway.db.scheduling import tasks
from headway.decide.changes.clear import Selection
from headway.domain.dag.retry import Next
from headway.domain.spark_work import SparkFigures, SparkProgress
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed

HALF = SparkProgress(stages=2, tasks=10, tasks_done=5, rate=2.5)
TOOK = SparkFigures(tasks=10, executor_run_ms=100, bytes_read=7, peak_memory_bytes=50, skew=2.0)
HANDLE = {"kind": "connect", "session_id": "s", "url": "sc://far:1"}
RUN = "scheduled__2024-01-01T00:00:00+00:00"


@pytest.fixture
def keys(engine: Engine) -> list[AttemptKey]:
    """Two attempts that run, with something in Spark."""
    found = seed.running(engine, seed.wide(2))
    with engine.begin() as conn:
        for key in found:
            assert handles.save(conn, key, HANDLE)
    return found


def save(engine: Engine, *said: SparkNews) -> None:
    with engine.begin() as conn:
        spark_work.save(conn, said)


def known(engine: Engine) -> list[tuple[object, object]]:
    """What is known of each attempt, if anything is."""
    with engine.connect() as conn:
        found = task_views.progress(conn, "etl", RUN)
    return [
        (progress.progress, progress.figures)
        for progress in found
        if progress.progress or progress.figures
    ]


def test_progress_and_figures_are_kept_side_by_side(engine: Engine, keys: list[AttemptKey]) -> None:
    one, other = keys
    save(engine, SparkNews(key=other, progress=HALF), SparkNews(key=one, progress=HALF))
    save(engine, SparkNews(key=one, figures=TOOK))

    (progress, figures), rest = known(engine)

    assert progress == HALF.to_frame()
    assert isinstance(figures, dict)
    assert SparkFigures(**figures) == TOOK
    assert rest == (HALF.to_frame(), None)


def test_an_attempt_that_has_ended_is_still_its_workers_to_tell_of(
    engine: Engine, keys: list[AttemptKey]
) -> None:
    seed.report(engine, keys)

    save(engine, SparkNews(key=keys[0], figures=TOOK))

    assert len(known(engine)) == 1


def test_nothing_is_told_without_the_token(engine: Engine, keys: list[AttemptKey]) -> None:
    save(engine, SparkNews(key=replace(keys[0], token=uuid4()), progress=HALF))

    assert known(engine) == []


def test_it_goes_with_its_attempt(engine: Engine, keys: list[AttemptKey]) -> None:
    save(engine, SparkNews(key=keys[0], progress=HALF))

    with engine.begin() as conn:
        conn.execute(text("DELETE FROM task_instance"))

        assert conn.scalar(text("SELECT count(*) FROM spark_work")) == 0


def test_the_cost_of_a_dag_and_of_each_run(engine: Engine, keys: list[AttemptKey]) -> None:
    with engine.connect() as conn:
        assert spark_views.cost(conn, None, None, by_run=False) == []  # nothing has ended
    more = replace(TOOK, executor_run_ms=50, peak_memory_bytes=20, skew=3.5)
    seed.report(engine, keys)
    save(engine, SparkNews(key=keys[0], figures=TOOK), SparkNews(key=keys[1], figures=more))

    with engine.connect() as conn:
        [whole] = spark_views.cost(conn, None, None, by_run=False)
        [run] = spark_views.cost(conn, "etl", RUN, by_run=True)
        assert spark_views.cost(conn, "other", None, by_run=True) == []

    assert (whole.dag_id, whole.run_id, run.run_id) == ("etl", None, RUN)
    assert (whole.attempts, whole.unknown) == (2, 0)
    assert (whole.executor_run_ms, whole.bytes_read, whole.tasks) == (150, 14, 20)
    assert (whole.peak_memory_bytes, whole.skew) == (50, 3.5)


def test_an_attempt_of_which_nothing_is_known_is_counted_so(
    engine: Engine, keys: list[AttemptKey]
) -> None:
    seed.report(engine, keys)
    save(engine, SparkNews(key=keys[0], figures=TOOK), SparkNews(key=keys[1], progress=HALF))

    with engine.connect() as conn:
        [cost] = spark_views.cost(conn, "etl", None, by_run=False)

    assert (cost.attempts, cost.unknown, cost.bytes_read) == (2, 1, 7)


def retried(engine: Engine, ids: list[int]) -> Claimed:
    """Schedule what waits for a retry, or to be decided anew, and claim it."""
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET state = 'scheduled', retry_at = NULL"))
        tasks.queue(conn, ids, seed.START, seed.SCHEDULER)
    [claimed] = seed.claim(engine, seed.register(engine, "worker"))
    return claimed


def begun(engine: Engine) -> AttemptKey:
    """Return an attempt that has something in Spark."""
    [key] = seed.running(engine, seed.dag())
    with engine.begin() as conn:
        handles.save(conn, key, HANDLE)
    return key


def found_by(engine: Engine, claimed: Claimed) -> list[PriorAttempt]:
    with engine.connect() as conn:
        return spark_work.prior_attempts(conn, claimed, 300)


RETRY = Next(TaskState.UP_FOR_RETRY, timedelta(0))
LOST = PriorAttempt(1, "lost", HANDLE, is_called_off=False, is_long_ago=False, worker_is_dead=False)


def test_the_next_attempt_finds_those_before_with_what_is_known_of_their_workers(
    engine: Engine,
) -> None:
    first = begun(engine)
    seed.report(engine, [first], Outcome.LOST, RETRY)
    second = retried(engine, [first.task_instance_id])

    found = found_by(engine, second)
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET ended_at = now()"))
        conn.execute(
            text(
                "UPDATE task_attempt SET ended_at = now() - interval '301 seconds' "
                "WHERE ended_at IS NOT NULL"
            )
        )
    later = found_by(engine, second)
    none = found_by(engine, replace(second, key=first))

    assert found == [LOST]
    assert later == [replace(LOST, is_long_ago=True, worker_is_dead=True)]
    assert none == []


def test_one_that_was_told_to_stop_and_is_lost_is_called_off(engine: Engine) -> None:
    """Told so by its own row, whatever the task has counted since."""
    first = begun(engine)
    seed.tell_to_stop(engine, [first], TaskState.NONE)
    seed.report(engine, [first], Outcome.LOST, RETRY)
    second = retried(engine, [first.task_instance_id])

    assert found_by(engine, second) == [replace(LOST, is_called_off=True)]
    assert found_by(engine, replace(second, losses=1)) == [replace(LOST, is_called_off=True)]


def test_what_was_before_a_clear_is_called_off_and_what_came_since_is_not(engine: Engine) -> None:
    first = begun(engine)
    seed.report(engine, [first], Outcome.FAILED, Next(TaskState.FAILED))
    with engine.begin() as conn:
        clear_tasks(conn, "etl", RUN, Selection(()), Author("user:ann", "late data"))
    last = retried(engine, [first.task_instance_id])
    assert [attempt.is_called_off for attempt in found_by(engine, last)] == [True]

    for outcome in (Outcome.LOST, Outcome.FAILED, Outcome.TIMED_OUT):
        with engine.begin() as conn:
            handles.save(conn, last.key, HANDLE)
        seed.report(engine, [last.key], outcome, RETRY)
        last = retried(engine, [first.task_instance_id])

    assert [attempt.is_called_off for attempt in found_by(engine, last)] == [
        True,
        False,
        False,
        False,
    ]
