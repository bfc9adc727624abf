"""The pass that takes attempts back which no worker claims."""

from datetime import timedelta
from typing import Any, Final

import pytest
from sqlalchemy import Engine, Row, text

from headway.db.core.processes import Identity
from headway.db.execution import attempts
from headway.db.execution.attempts import Claimed
from headway.db.recovery import ownership
from headway.db.scheduling import tasks
from headway.domain.dag.spec import DEFAULT_QUEUE
from headway.domain.errors import FencedError
from headway.runtime.settings import configuration
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.database.interleaving import just_before
from headway_scheduler.passes.revoke import revoke
from headway_scheduler.replica.replica import Replica

LATER: Final = seed.START + timedelta(seconds=601)
"""When what is queued by the seed has been for longer than `task_queued_timeout`."""


@pytest.fixture
def me(engine: Engine) -> Replica:
    return Replica(engine, seed.register(engine), configuration.read(SchedulerSettings))


@pytest.fixture
def worker(engine: Engine) -> Identity:
    return seed.register(engine, "worker")


def rows(engine: Engine, query: str) -> list[Row[Any]]:
    with engine.connect() as conn:
        return list(conn.execute(text(query)))


def test_a_task_that_is_queued_for_too_long_goes_back_into_the_line(
    engine: Engine, me: Replica
) -> None:
    seed.queued(engine, seed.dag())
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET failures = 1, losses = 2, priority = 3"))

    assert revoke(me, LATER) == 1

    [task] = rows(engine, "SELECT * FROM task_instance")
    assert (task.state, task.attempt, task.failures, task.losses) == ("scheduled", 1, 1, 2)
    assert task.rank == LATER.timestamp() - 3 * seed.AGING
    [attempt] = rows(engine, "SELECT * FROM task_attempt")
    assert (attempt.phase, attempt.outcome) == ("ended", "cancelled")
    assert attempt.error == ownership.REVOKED
    assert revoke(me, LATER) == 0


def test_it_is_queued_again_as_another_attempt(
    engine: Engine, me: Replica, worker: Identity
) -> None:
    ids = seed.queued(engine, seed.dag())
    revoke(me, LATER)
    assert seed.claim(engine, worker) == []

    with engine.begin() as conn:
        tasks.queue(conn, ids, LATER, seed.SCHEDULER)

    assert [claimed.key.attempt for claimed in seed.claim(engine, worker)] == [2]


def test_what_has_time_left_is_left_alone(engine: Engine, me: Replica) -> None:
    seed.queued(engine, seed.dag())

    assert revoke(me, LATER - timedelta(seconds=2)) == 0
    assert seed.task_states(engine) == {"work": "queued"}


def test_what_runs_may_take_as_long_as_it_likes(
    engine: Engine, me: Replica, worker: Identity
) -> None:
    seed.queued(engine, seed.dag())
    seed.claim(engine, worker)

    assert revoke(me, LATER) == 0
    assert seed.task_states(engine) == {"work": "running"}


def test_a_task_that_is_claimed_just_before_it_is_revoked_runs(
    engine: Engine, me: Replica, worker: Identity
) -> None:
    seed.queued(engine, seed.dag())
    claimed: list[Claimed] = []

    with just_before(engine, ownership.REVOKE, lambda: claimed.extend(seed.claim(engine, worker))):
        assert revoke(me, LATER) == 0

    assert seed.task_states(engine) == {"work": "running"}
    assert seed.report(engine, [claimed[0].key]) == {claimed[0].key}


def test_a_task_that_is_just_being_claimed_is_not_waited_for(
    engine: Engine, me: Replica, worker: Identity
) -> None:
    seed.queued(engine, seed.wide(2))

    with engine.begin() as conn:
        [claimed] = attempts.claim(conn, worker, [DEFAULT_QUEUE], 1, 30)
        assert revoke(me, LATER) == 1

    assert seed.task_states(engine) == {"t0": "running", "t1": "scheduled"}
    assert seed.report(engine, [claimed.key]) == {claimed.key}


def test_a_task_that_is_just_being_revoked_is_not_claimed(
    engine: Engine, me: Replica, worker: Identity
) -> None:
    seed.queued(engine, seed.dag())
    claimed: list[Claimed] = []

    assert revoke(me, LATER, lambda: claimed.extend(seed.claim(engine, worker))) == 1

    assert claimed == []
    assert seed.task_states(engine) == {"work": "scheduled"}


def test_two_schedulers_revoke_a_task_once(engine: Engine, me: Replica) -> None:
    seed.queued(engine, seed.wide(3))
    other = Replica(engine, seed.register(engine), me.settings)
    others: list[int] = []

    assert revoke(me, LATER, lambda: others.append(revoke(other, LATER))) == 3

    assert others == [0]
    assert {row.attempt for row in rows(engine, "SELECT attempt FROM task_instance")} == {1}


def test_one_that_was_declared_dead_revokes_nothing(engine: Engine, me: Replica) -> None:
    seed.queued(engine, seed.dag())
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET epoch = epoch + 1, ended_at = now()"))

    with pytest.raises(FencedError):
        revoke(me, LATER)
