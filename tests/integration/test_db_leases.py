"""Leases: only who holds one renews it, and only one that has run out is taken."""

from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy import Engine, TextClause, text

from headway.db import attempts, leases
from headway.db.attempts import AttemptKey
from headway.db.leases import LostAttempt
from headway.domain.retry import MOST_LOSSES, after_loss
from headway.domain.states import Outcome
from headway.testing import seed
from headway.testing.interleaving import in_background, just_before, wait_until_blocked

HOUR = 3600.0


@pytest.fixture
def key(engine: Engine) -> AttemptKey:
    """The one attempt that runs; its lease ends in half a minute."""
    [key] = seed.running(engine, seed.dag())
    return key


def expire(engine: Engine, seconds: float = HOUR) -> None:
    """Have every lease run out so many seconds ago."""
    past = text("UPDATE lease SET expires_at = now() - make_interval(secs => :seconds)")
    with engine.begin() as conn:
        conn.execute(past, {"seconds": seconds})


def renew(engine: Engine, *keys: AttemptKey, seconds: float = 30) -> set[AttemptKey]:
    with engine.begin() as conn:
        return leases.renew(conn, keys, seconds)


def take(engine: Engine, grace: float = 0, limit: int = 10) -> list[LostAttempt]:
    with engine.begin() as conn:
        return leases.take_expired(conn, grace, limit)


def lose(engine: Engine) -> list[LostAttempt]:
    """Take over every attempt whose lease has run out, as the scheduler does."""
    with engine.begin() as conn:
        lost = leases.take_expired(conn, 0, 10)
        leases.end_lost(conn, [(attempt, after_loss(attempt.losses)) for attempt in lost])
    return lost


def test_a_lease_is_renewed_from_now_on(engine: Engine, key: AttemptKey) -> None:
    assert renew(engine, key, seconds=HOUR) == {key}

    left = text("SELECT extract(epoch FROM expires_at - now()) FROM lease")
    with engine.connect() as conn:
        assert HOUR - 60 < float(conn.scalar(left) or 0) <= HOUR


def test_only_the_holder_renews_a_lease(engine: Engine) -> None:
    mine, taken = seed.running(engine, seed.wide(2))
    strange = replace(taken, token=uuid4())

    assert renew(engine, mine, strange) == {mine}
    assert renew(engine, replace(mine, attempt=2)) == set()
    assert renew(engine) == set()


def test_a_lease_that_has_run_out_is_not_renewed(engine: Engine, key: AttemptKey) -> None:
    expire(engine, 0)

    assert renew(engine, key) == set()


def test_a_lease_that_was_taken_is_not_renewed(engine: Engine, key: AttemptKey) -> None:
    expire(engine)
    assert take(engine) == [LostAttempt(key.task_instance_id, 1, losses=1)]

    assert renew(engine, key) == set()
    assert take(engine) == []


def test_a_lease_is_taken_only_after_the_grace(engine: Engine, key: AttemptKey) -> None:
    assert take(engine) == []
    expire(engine, HOUR)
    assert take(engine, grace=2 * HOUR) == []
    assert [lost.attempt for lost in take(engine, grace=HOUR / 2)] == [1]


def test_no_more_leases_are_taken_than_asked_for(engine: Engine) -> None:
    seed.running(engine, seed.wide(3))
    expire(engine)

    assert [len(take(engine, limit=2)) for _ in range(3)] == [2, 1, 0]


@pytest.mark.parametrize("statement", [leases.LOCK_TASKS, leases.TAKE], ids=["lock", "take"])
def test_a_renewal_between_look_and_take_wins(
    engine: Engine, key: AttemptKey, statement: TextClause
) -> None:
    """With a negative grace leases count as run out that can still be renewed."""
    renewals: list[set[AttemptKey]] = []

    def come_back() -> None:
        renewals.append(renew(engine, key, seconds=2 * HOUR))

    with just_before(engine, statement, come_back):
        assert take(engine, grace=-HOUR) == []

    assert renewals == [{key}]
    assert renew(engine, key) == {key}


def test_a_renewal_that_has_not_committed_is_waited_for(engine: Engine, key: AttemptKey) -> None:
    with engine.connect() as worker:
        leases.renew(worker, [key], 2 * HOUR)
        with in_background(lambda: take(engine, grace=-HOUR)) as taken:
            wait_until_blocked(engine)
            worker.commit()
            assert taken.result() == []


def test_a_report_between_look_and_take_wins(engine: Engine, key: AttemptKey) -> None:
    expire(engine)

    with just_before(engine, leases.LOCK_TASKS, lambda: seed.report(engine, [key])):
        assert lose(engine) == []

    assert seed.task_states(engine) == {"work": "success"}


def test_an_attempt_that_is_just_being_reported_is_left_alone(
    engine: Engine, key: AttemptKey
) -> None:
    expire(engine)
    told = attempts.Report(key=key, outcome=Outcome.SUCCESS, following=seed.SUCCESS)

    with engine.begin() as worker:
        attempts.report(worker, [told])
        assert lose(engine) == []

    assert seed.task_states(engine) == {"work": "success"}


def test_an_attempt_is_not_given_away_once_its_report_has_begun(
    engine: Engine, key: AttemptKey
) -> None:
    """The report locks the task first, so the one who takes over finds it locked."""
    expire(engine)

    with just_before(engine, attempts.REPORT, lambda: lose(engine)):
        assert seed.report(engine, [key]) == {key}

    assert seed.task_states(engine) == {"work": "success"}


def test_two_schedulers_take_a_lease_once(engine: Engine, key: AttemptKey) -> None:
    expire(engine)

    with engine.begin() as first:
        assert len(leases.take_expired(first, 0, 10)) == 1
        assert take(engine) == []


def test_a_lost_attempt_ends_and_its_task_is_tried_again(engine: Engine, key: AttemptKey) -> None:
    expire(engine)
    with engine.begin() as conn:
        conn.execute(text("DELETE FROM wake"))

    assert len(lose(engine)) == 1

    with engine.connect() as conn:
        attempt = conn.execute(text("SELECT * FROM task_attempt")).one()
        task = conn.execute(text("SELECT * FROM task_instance")).one()
        assert conn.scalar(text("SELECT count(*) FROM wake")) == 1
    assert (attempt.phase, attempt.outcome, attempt.error) == ("ended", "lost", leases.LOST)
    assert (task.state, task.retry_at) == ("up_for_retry", task.ended_at)
    assert (task.failures, task.losses) == (0, 1)


def test_the_late_report_of_a_lost_attempt_is_refused(engine: Engine, key: AttemptKey) -> None:
    expire(engine)
    lose(engine)

    assert seed.report(engine, [key]) == set()

    with engine.connect() as conn:
        assert attempts.reported(conn, key) is Outcome.LOST
    assert seed.task_states(engine) == {"work": "up_for_retry"}


def test_a_task_that_was_lost_too_often_fails(engine: Engine, key: AttemptKey) -> None:
    expire(engine)
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET losses = :most"), {"most": MOST_LOSSES})

    lose(engine)

    with engine.connect() as conn:
        task = conn.execute(text("SELECT * FROM task_instance")).one()
    assert (task.state, task.retry_at, task.losses) == ("failed", None, MOST_LOSSES + 1)
