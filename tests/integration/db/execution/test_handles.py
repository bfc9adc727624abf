"""What a lost attempt has left on a cluster is minded by the next one, at every moment."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author
from headway.actions.explain.explain import ExplainRequest, explain
from headway.actions.runs.cancel import cancel_run
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.mark import Marking, mark_tasks
from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import attempts, handles, leases, spark_work
from headway.db.execution.attempts import Claimed, Report
from headway.decide.changes.clear import Selection
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.retry import MOST_LOSSES, Next
from headway.domain.errors import ConflictError
from headway.domain.states import OnLost, Outcome, TaskState
from headway.runtime.settings import configuration
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.database.invariants import violations
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.revoke import revoke
from headway_scheduler.replica.replica import Replica

RUN = "scheduled__2024-01-01T00:00:00+00:00"
NOTHING: Final[Mapping[str, str]] = {}
ANN = Author("user:ann")
HANDLE: Final[dict[str, Any]] = {
    "kind": "submit",
    "mode": "cluster",
    "tag": "t",
    "application_id": "application_1_1",
}
EXPIRE = text("""
    UPDATE task_attempt SET claimed_until = now() - interval '1 hour' WHERE phase <> 'ended'
""")
PASS = text("UPDATE lease SET expires_at = expires_at - make_interval(secs => :seconds)")
ATTEMPTS = text("""
    SELECT attempt, phase, outcome, error, stop_to, handle, pool, queue, scheduler_id, started_at
      FROM task_attempt ORDER BY attempt
""")


@pytest.fixture
def me(engine: Engine) -> Replica:
    quiet = configuration.read(SchedulerSettings, lease_grace=10)
    return Replica(engine, seed.register(engine), quiet)


def begun(
    engine: Engine, on_lost: OnLost = OnLost.RETRY, more: Mapping[str, str] = NOTHING
) -> AttemptKey:
    """Run an attempt that has submitted an application."""
    seed.make_pool(engine, "narrow", 1)
    task = replace(seed.task("work"), on_lost=on_lost)
    task = replace(task, callbacks=(CallbackEvent.RETRY, CallbackEvent.FAILURE))
    [key] = seed.running(engine, seed.in_pool(seed.dag(task), "narrow"))
    with engine.begin() as conn:
        assert handles.save(conn, key, {**HANDLE, **more})
    return key


def lose(engine: Engine, me: Replica) -> None:
    with engine.begin() as conn:
        conn.execute(EXPIRE)
        conn.execute(text("DELETE FROM lease"))
    assert adopt(me)


def rows(engine: Engine) -> Sequence[Any]:
    assert violations(engine) == []
    with engine.connect() as conn:
        return conn.execute(ATTEMPTS).all()


def claim(engine: Engine) -> Claimed:
    [claimed] = seed.claim(engine, seed.register(engine, "worker"))
    return claimed


def state(engine: Engine) -> str:
    return seed.task_states(engine)["work"]


def tell(engine: Engine, target: TaskState) -> None:
    """Mark the task, or clear it, as a user does."""
    with engine.begin() as conn:
        if target is TaskState.NONE:
            clear_tasks(conn, "etl", RUN, Selection(["work"]), ANN)
        else:
            mark_tasks(conn, "etl", RUN, Marking(["work"], target), ANN)


def counts(engine: Engine) -> tuple[int, int]:
    with engine.connect() as conn:
        row = conn.execute(text("SELECT failures, losses FROM task_instance")).one()
    return row.failures, row.losses


def callbacks(engine: Engine) -> list[str]:
    with engine.connect() as conn:
        return list(conn.scalars(text("SELECT event FROM callback ORDER BY id")))


def test_it_is_followed_at_once_in_its_place(engine: Engine, me: Replica) -> None:
    begun(engine)

    lose(engine, me)

    lost, following = rows(engine)
    assert (lost.phase, lost.outcome, lost.stop_to) == ("ended", "lost", None)
    assert (following.phase, following.stop_to, following.started_at) == ("queued", None, None)
    assert (following.handle, following.pool, following.queue) == (HANDLE, lost.pool, lost.queue)
    assert following.scheduler_id == me.me.id
    assert state(engine) == "queued"
    claimed = claim(engine)
    assert (claimed.losses, claimed.handle, claimed.is_called_off) == (1, HANDLE, False)
    assert state(engine) == "running"
    assert callbacks(engine) == ["retry"]
    assert seed.report(engine, [claimed.key]) == {claimed.key}


def test_the_time_of_the_lost_attempt_is_none_that_the_next_one_waited(
    engine: Engine, me: Replica
) -> None:
    begun(engine)
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET scheduled_at = now() - interval '3 hours'"))

    lose(engine, me)

    for_worker, in_all = claim(engine).waited
    assert in_all is not None
    assert timedelta() < for_worker == in_all < timedelta(hours=1)


@pytest.mark.parametrize("more", [{"mode": "client"}, {"ended": "yes"}, {"refused": "yes"}])
def test_one_that_leaves_nothing_is_tried_again_as_any_other(
    engine: Engine, me: Replica, more: dict[str, str]
) -> None:
    begun(engine, more=more)

    lose(engine, me)

    assert len(rows(engine)) == 1
    assert state(engine) == "up_for_retry"


@pytest.mark.parametrize("target", [TaskState.SUCCESS, TaskState.FAILED, TaskState.NONE])
@pytest.mark.parametrize("when", ["before the loss", "in the queue", "once more in the queue"])
def test_what_was_told_to_stop_is_only_ended(
    engine: Engine, me: Replica, target: TaskState, when: str
) -> None:
    begun(engine)
    if when == "in the queue":
        lose(engine, me)
    tell(engine, target)
    if when != "in the queue":
        lose(engine, me)
    if when == "once more in the queue":
        tell(engine, target)

    assert [row.phase for row in rows(engine)] == ["ended", "queued"]
    assert rows(engine)[1].stop_to == str(target)
    assert state(engine) == "queued"
    claimed = claim(engine)
    assert claimed.is_called_off
    assert claimed.handle == HANDLE
    assert rows(engine)[1].phase == "stopping"
    assert state(engine) == ("restarting" if target is TaskState.NONE else "running")
    with engine.begin() as conn:
        assert leases.renew(conn, [claimed.key], 30) == {claimed.key: True}
        [before] = spark_work.prior_attempts(conn, claimed, 1.0)
    assert before.handle == HANDLE
    seed.report(engine, [claimed.key], Outcome.CANCELLED, Next(TaskState.FAILED))
    assert state(engine) == str(target)
    if target is TaskState.NONE:  # it begins anew, and nothing counts against it
        assert counts(engine) == (0, 0)
    assert rows(engine)[1].outcome == "cancelled"


def test_a_run_that_is_cancelled_meanwhile_waits_for_that(engine: Engine, me: Replica) -> None:
    begun(engine)
    lose(engine, me)

    with engine.begin() as conn:
        cancel_run(conn, "etl", RUN, ANN)

    assert state(engine) == "queued"
    assert claim(engine).is_called_off


def test_one_that_must_not_run_twice_is_only_ended_and_fails(engine: Engine, me: Replica) -> None:
    begun(engine, OnLost.FAIL)

    lose(engine, me)

    assert callbacks(engine) == []
    claimed = claim(engine)
    assert claimed.is_called_off
    report = Report(
        key=claimed.key,
        outcome=Outcome.CANCELLED,
        following=Next(TaskState.FAILED),
        callbacks=(CallbackEvent.FAILURE,),
    )
    with engine.begin() as conn:
        attempts.report(conn, [report])
    assert state(engine) == "failed"
    assert callbacks(engine) == ["failure"]


def test_what_is_lost_too_often_is_left_for_its_user_to_look_at(
    engine: Engine, me: Replica
) -> None:
    begun(engine)
    tell(engine, TaskState.SUCCESS)
    for _ in range(MOST_LOSSES):
        lose(engine, me)
        assert claim(engine).is_called_off
    lose(engine, me)

    last = rows(engine)[-1]
    assert (last.attempt, last.outcome) == (MOST_LOSSES + 1, "lost")
    assert "Look on its cluster: application application_1_1 may still run." in last.error
    assert state(engine) == "success"


def given_up(key: AttemptKey, delay: float = 0.0) -> Report:
    return Report(
        key=key,
        outcome=Outcome.LOST,
        following=Next(TaskState.UP_FOR_RETRY, timedelta(seconds=delay)),
        error="The worker was stopped.",
        left="application_1_1",
    )


@pytest.mark.parametrize("delay", [0.0, 100.0])
def test_one_that_its_worker_gives_up_is_lost_when_it_may_be_tried_again(
    engine: Engine, me: Replica, delay: float
) -> None:
    key = begun(engine)
    with engine.begin() as conn:
        assert leases.renew(conn, [key], 1000) == {key: False}
        assert handles.give_up(conn, [given_up(replace(key, attempt=2))]) == set()
        for _ in range(2):  # the first time it has heard of no answer
            assert handles.give_up(conn, [given_up(key, delay)]) == {key}

    if delay:
        for seconds in (11, delay):  # the grace, and what is left
            adopt(me)
            assert state(engine) == "running"
            with engine.begin() as conn:
                conn.execute(PASS, {"seconds": seconds})

    assert adopt(me)
    lost, following = rows(engine)
    assert (lost.outcome, lost.error) == ("lost", "The worker was stopped.")
    assert (following.phase, following.error) == ("queued", None)
    with engine.begin() as conn:
        assert handles.give_up(conn, [given_up(key)]) == set()


def test_what_minds_an_application_is_never_scheduled_again(engine: Engine, me: Replica) -> None:
    begun(engine)
    lose(engine, me)
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_attempt SET queued_at = now() - interval '1 day'"))

    assert revoke(me, datetime.now(UTC)) == 0
    assert state(engine) == "queued"


def test_a_run_gets_no_other_version_while_a_task_minds_an_application(
    engine: Engine, me: Replica
) -> None:
    begun(engine)
    lose(engine, me)
    seed.store(engine, seed.dag(seed.task("work"), seed.task("more")))

    def give_it_the_latest() -> None:
        with engine.begin() as conn, pytest.raises(ConflictError, match="work minds an applica"):
            clear_tasks(conn, "etl", RUN, Selection(["work"]), ANN, "latest")

    give_it_the_latest()
    tell(engine, TaskState.FAILED)
    claim(engine)
    give_it_the_latest()  # it is being ended


def test_it_is_explained(engine: Engine, me: Replica) -> None:
    begun(engine)
    lose(engine, me)

    def facts() -> str:
        with engine.begin() as conn:
            wanted = ExplainRequest("etl", RUN, "work")
            return explain(conn, wanted, configuration.read(SchedulerSettings), seed.START).facts[0]

    left = "An attempt before it was lost, and has left application application_1_1 on its cluster"
    assert facts() == f"{left}: attempt 2 takes that up."
    tell(engine, TaskState.NONE)
    assert facts() == f"{left}: attempt 2 only ends that, and then the task is decided anew."
