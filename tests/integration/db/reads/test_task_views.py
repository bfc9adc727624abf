"""What commands show of a run is of that run alone."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from headway.db.execution import handles, spark_work
from headway.db.execution.spark_work import SparkNews
from headway.db.reads import task_views
from headway.db.reads.charts import run_times
from headway.db.reads.pages.paging import Asked
from headway.domain.dag.retry import Next
from headway.domain.spark_work import SparkProgress
from headway.domain.states import Outcome, Phase, TaskState
from headway.testing.data import seed

RUN = f"scheduled__{seed.START.isoformat()}"


@pytest.mark.parametrize("view", [task_views.tasks, task_views.attempts])
def test_tasks_and_attempts_are_of_the_run_that_is_named(
    engine: Engine, view: Callable[[Connection, str, str], list[Any]]
) -> None:
    """Another DAG has a run of the same name, and the DAG another run."""
    seed.running(engine, seed.dag(seed.task("mine")))
    seed.running(engine, seed.dag(seed.task("mine")), day=1)
    seed.running(engine, seed.dag(seed.task("others"), dag_id="other"))

    with engine.begin() as conn:
        found = view(conn, "etl", RUN)

    assert [row.task_id for row in found] == ["mine"]


def state_of(conn: Connection, dag_id: str) -> str | None:
    found = task_views.history(conn, dag_id, RUN, "mine", -1)
    return None if found is None else found.task.state


def test_the_state_of_a_task_is_that_of_the_run_that_is_named(engine: Engine) -> None:
    for day in (0, 1):
        seed.running(engine, seed.dag(seed.task("mine")), day=day)
    seed.queued(engine, seed.dag(seed.task("mine"), dag_id="other"))

    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET state = 'queued' WHERE state <> 'running'"))
        states = [state_of(conn, dag_id) for dag_id in ("etl", "other", "none")]

    assert states == ["running", "queued", None]


def test_each_task_has_its_own_attempts_the_first_one_first(engine: Engine) -> None:
    first, second = seed.running(engine, seed.wide(2))
    again = text("""
        INSERT INTO task_attempt (task_instance_id, attempt, dag_id, pool, pool_slots, queue, rank,
                                  queued_at)
        SELECT task_instance_id, 2, dag_id, pool, pool_slots, queue, rank, queued_at
          FROM task_attempt WHERE task_instance_id = :task
    """)
    seed.report(engine, [first], Outcome.FAILED, Next(TaskState.UP_FOR_RETRY, seed.DAY))
    with engine.begin() as conn:
        conn.execute(again, {"task": first.task_instance_id})
        histories = task_views.histories(conn, "etl", RUN)

    assert [
        (history.task.task_id, [its.attempt for its in history.attempts]) for history in histories
    ] == [
        ("t0", [1, 2]),
        ("t1", [1]),
    ]
    failed, queued = histories[0].attempts
    assert (failed.phase, failed.outcome, queued.phase, queued.outcome) == (
        *(Phase.ENDED, Outcome.FAILED),
        *(Phase.QUEUED, None),
    )
    assert histories[0].last is queued
    assert {attempt.task_id for attempt in histories[1].attempts} == {"t1"}
    assert second.task_instance_id != first.task_instance_id


def test_some_instances_have_their_own_attempts_alone(engine: Engine) -> None:
    seed.running(engine, seed.wide(3))
    with engine.begin() as conn:
        # An index of one task and the id of another make no instance that is asked for.
        conn.execute(text("UPDATE task_instance SET map_index = 1 WHERE task_id = 't2'"))
        _, second, third = task_views.tasks(conn, "etl", RUN)
        found = task_views.histories_of(conn, "etl", RUN, [third, second])
        names = {("t2", 1), ("t1", -1), ("t0", 1)}
        bars = run_times.gantt(conn, Asked(None), "etl", RUN, names).rows
        none = run_times.gantt(conn, Asked(None), "etl", RUN, []).rows

    assert [(it.task.name, len(it.attempts)) for it in found] == [("t2[1]", 1), ("t1", 1)]
    assert [(bar.task_id, bar.attempt) for bar in bars] == [("t1", 1), ("t2", 1)]
    assert none == []


def test_a_task_without_an_attempt_has_no_last_one(engine: Engine) -> None:
    seed.start_run(engine, seed.dag())
    with engine.connect() as conn:
        [found] = task_views.histories(conn, "etl", RUN)

    assert (found.attempts, found.last, found.task.started_at) == ([], None, None)


def test_progress_is_that_of_the_current_attempt(engine: Engine) -> None:
    keys = seed.running(engine, seed.wide(2))
    half = SparkProgress(tasks=4, tasks_done=2)
    with engine.begin() as conn:
        for key in keys:
            handles.save(conn, key, {"kind": "connect"})
        spark_work.save(conn, [SparkNews(key=key, progress=half) for key in keys])
        conn.execute(text("UPDATE task_instance SET attempt = 2 WHERE task_id = 't1'"))
        found = task_views.progress(conn, "etl", RUN)
        [_, [earlier]] = [history.attempts for history in task_views.histories(conn, "etl", RUN)]

    assert [(progress.task.name, progress.progress, progress.figures) for progress in found] == [
        ("t0", half.to_frame(), None),
        ("t1", None, None),
    ]
    assert earlier.progress == half.to_frame(), "the attempt before still has what it did"


def test_a_mapped_task_is_named_with_its_index(engine: Engine) -> None:
    seed.start_run(engine, seed.dag())
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET map_index = 3"))
        [task] = task_views.tasks(conn, "etl", RUN)

    assert task.name == "work[3]"
