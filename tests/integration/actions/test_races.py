"""Users against workers and schedulers: each interleaving of two transactions, written down."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, TextClause, text

from headway.actions.change import Author, RunChange
from headway.actions.runs.cancel import cancel_run
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.mark import Marking, mark_tasks
from headway.db.changes import run_changes
from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import attempts
from headway.db.scheduling import wakes
from headway.decide.changes.clear import Selection
from headway.domain.dag.retry import Next
from headway.domain.errors import ConflictError
from headway.domain.states import Outcome, TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.database.interleaving import just_before, waiting, waiting_before
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.replica.replica import Replica

NOW = seed.START + seed.DAY
RUN = f"scheduled__{seed.START.isoformat()}"
ANN = Author("user:ann")
AGAIN = Next(TaskState.UP_FOR_RETRY, timedelta(0))
CHAIN = seed.dag(seed.task("a"), seed.task("b", "a"))


def clear(engine: Engine) -> RunChange:
    with engine.begin() as conn:
        return clear_tasks(conn, "etl", RUN, Selection(), ANN)


def cancel(engine: Engine) -> RunChange:
    with engine.begin() as conn:
        return cancel_run(conn, "etl", RUN, ANN)


def mark(engine: Engine, state: TaskState = TaskState.SUCCESS) -> RunChange:
    with engine.begin() as conn:
        return mark_tasks(conn, "etl", RUN, Marking(["a"], state), ANN)


@pytest.fixture
def replica(engine: Engine) -> Replica:
    return Replica(engine, seed.register(engine), read(SchedulerSettings))


@pytest.fixture
def key(engine: Engine) -> AttemptKey:
    """The attempt of a, which runs; the run is to be looked at."""
    run = seed.start_run(engine, CHAIN)
    with engine.begin() as conn:
        wakes.add(conn, [run])
    return force(engine, run, a="running")["a"]


@pytest.fixture
def ready(engine: Engine) -> None:
    """A run of which a is scheduled, and a worker that could take it."""
    seed.start_run(engine, CHAIN)
    seed.register(engine, "worker")


def live(engine: Engine) -> list[tuple[str, str]]:
    """The live attempts: phase and the state of their task."""
    found = text("""
        SELECT it.phase, task.state FROM task_attempt AS it
          JOIN task_instance AS task ON task.id = it.task_instance_id
         WHERE it.ended_at IS NULL
    """)
    with engine.connect() as conn:
        return [(row.phase, row.state) for row in conn.execute(found)]


def state(engine: Engine) -> str:
    return seed.task_states(engine)["a"]


def test_clear_just_after_a_report(engine: Engine, key: AttemptKey) -> None:
    """It finds a success, which nothing is to be stopped of."""
    with just_before(engine, run_changes.LOCK_TASKS, lambda: seed.report(engine, [key])):
        change = clear(engine)

    assert (change.moved, change.stopping) == ({TaskState.NONE: 1}, {})
    assert (state(engine), live(engine)) == ("none", [])


def test_clear_just_before_a_report(engine: Engine, key: AttemptKey) -> None:
    """The report waits, and then the attempt ends as one that was told to stop."""
    with waiting_before(engine, run_changes.STOP, lambda: seed.report(engine, [key])):
        change = clear(engine)

    assert (change.moved, change.stopping) == ({}, {TaskState.NONE: 1})
    assert (state(engine), live(engine)) == ("none", [])


def test_clear_while_a_report_is_being_written(engine: Engine, key: AttemptKey) -> None:
    with waiting(engine, lambda: clear(engine)) as begin, engine.begin() as conn:
        report = attempts.Report(key=key, outcome=Outcome.FAILED, following=AGAIN)
        assert attempts.report(conn, [report]).keys() == {key}
        begin()

    assert (state(engine), live(engine)) == ("none", [])


@pytest.mark.parametrize("target", [TaskState.SUCCESS, TaskState.FAILED, TaskState.SKIPPED])
def test_mark_just_before_a_report(engine: Engine, key: AttemptKey, target: TaskState) -> None:
    def report() -> None:
        seed.report(engine, [key], Outcome.FAILED, AGAIN)

    with waiting_before(engine, run_changes.STOP, report):
        mark(engine, target)

    assert (state(engine), live(engine)) == (target, [])


@pytest.mark.parametrize("target", [TaskState.SUCCESS, TaskState.FAILED])
def test_mark_just_after_a_report(engine: Engine, key: AttemptKey, target: TaskState) -> None:
    def report() -> None:
        seed.report(engine, [key], Outcome.FAILED, Next(TaskState.FAILED))

    with just_before(engine, run_changes.LOCK_TASKS, report):
        change = mark(engine, target)

    assert bool(change.moved) == (target is TaskState.SUCCESS)
    assert (state(engine), live(engine)) == (target, [])


def test_nothing_is_skipped_that_has_succeeded_in_between(engine: Engine, key: AttemptKey) -> None:
    with (
        just_before(engine, run_changes.LOCK_TASKS, lambda: seed.report(engine, [key])),
        pytest.raises(ConflictError, match="cannot be marked skipped"),
    ):
        mark(engine, TaskState.SKIPPED)

    assert state(engine) == "success"


@pytest.mark.usefixtures("ready")
def test_clear_just_after_the_task_was_queued(engine: Engine, replica: Replica) -> None:
    with just_before(
        engine, run_changes.LOCK_TASKS, lambda: queue_tasks(replica, "default_pool", NOW)
    ):
        clear(engine)

    assert (state(engine), live(engine)) == ("none", [])


@pytest.mark.usefixtures("ready")
def test_clear_while_the_task_is_being_queued(engine: Engine, replica: Replica) -> None:
    """It waits for the task, and must then see the attempt that was not there before."""
    with waiting(engine, lambda: clear(engine)) as begin:
        admission = queue_tasks(replica, "default_pool", NOW, before_commit=begin)

    assert len(admission.task_ids) == 1
    assert (state(engine), live(engine)) == ("none", [])


@pytest.mark.usefixtures("ready")
def test_nothing_is_queued_that_is_being_cleared(engine: Engine, replica: Replica) -> None:
    queued: list[int] = []

    def queue() -> None:
        queued.extend(queue_tasks(replica, "default_pool", NOW).task_ids)

    with just_before(engine, run_changes.CLEAR, queue):
        clear(engine)

    assert queued == []
    assert (state(engine), live(engine)) == ("none", [])


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize(
    ("before", "claims", "phases"),
    [
        (run_changes.LOCK_RUN, 1, [("stopping", "running")]),
        (run_changes.LOCK_TASKS, 1, [("stopping", "running")]),
        (run_changes.LIVE, 0, []),
        (run_changes.WITHDRAW, 0, []),
    ],
)
def test_cancel_against_claim(
    engine: Engine,
    replica: Replica,
    before: TextClause,
    claims: int,
    phases: list[tuple[str, str]],
) -> None:
    """Up to the lock on the task a worker may begin it, and is told to stop; after it, never."""
    queue_tasks(replica, "default_pool", NOW)
    worker, claimed = seed.register(engine, "worker"), list[Any]()

    with just_before(engine, before, lambda: claimed.extend(seed.claim(engine, worker))):
        cancel(engine)

    assert len(claimed) == claims
    assert live(engine) == phases
    assert seed.claim(engine, worker) == []


@pytest.mark.usefixtures("ready")
def test_cancel_while_the_task_is_being_claimed(engine: Engine, replica: Replica) -> None:
    queue_tasks(replica, "default_pool", NOW)
    worker = seed.register(engine, "worker")

    with waiting(engine, lambda: cancel(engine)) as begin, engine.begin() as conn:
        [claimed] = attempts.claim(conn, worker, ["default"], 5, 30)
        begin()

    assert live(engine) == [("stopping", "running")]
    seed.report(engine, [claimed.key], Outcome.CANCELLED, Next(TaskState.FAILED))
    assert state(engine) == "failed"


def test_a_user_who_waits_for_a_run_holds_none_of_its_tasks(
    engine: Engine, replica: Replica, key: AttemptKey
) -> None:
    """F5: locked the other way round, the pass, the worker and the user wait in a circle."""

    def report_meanwhile() -> None:
        begin()
        assert seed.report(engine, [key]) == {key}

    with waiting(engine, lambda: clear(engine)) as begin:
        assert schedule_tasks(replica, NOW, before_commit=report_meanwhile).runs == 1

    assert (state(engine), live(engine)) == ("none", [])


def test_a_run_that_a_user_has_is_left_alone_by_the_scheduler(
    engine: Engine, replica: Replica, key: AttemptKey
) -> None:
    settled: list[int] = []

    with just_before(
        engine, run_changes.STOP, lambda: settled.append(schedule_tasks(replica, NOW).runs)
    ):
        clear(engine)

    assert settled == [0]
    assert schedule_tasks(replica, NOW).runs == 1


def test_two_users_one_after_the_other(engine: Engine, key: AttemptKey) -> None:
    """The second finds what the first has done: the attempt ends as was said last."""
    with waiting_before(engine, run_changes.STOP, lambda: cancel(engine)):
        clear(engine)

    assert live(engine) == [("stopping", "restarting")]
    seed.report(engine, [key])
    assert seed.task_states(engine) == {"a": "failed", "b": "skipped"}
