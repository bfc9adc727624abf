"""Leases: only who holds one renews it, and only one that has run out is taken."""

from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text

from headway.db.core import processes
from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import attempts, leases
from headway.db.recovery import lost_attempts
from headway.db.recovery.lost_attempts import LostAttempt
from headway.decide.scheduling.lost import SilenceCount
from headway.domain.dag.retry import MOST_LOSSES, after_loss
from headway.domain.states import OnLost, Outcome, TaskState
from headway.testing.data import seed
from headway.testing.database.interleaving import in_background, just_before, wait_until_blocked

HOUR = 3600.0


def renew(engine: Engine, *keys: AttemptKey, seconds: float = 30) -> dict[AttemptKey, bool]:
    with engine.begin() as conn:
        return leases.renew(conn, keys, seconds)


def expire(engine: Engine, seconds: float = HOUR) -> None:
    """Have every claim and lease run out so many seconds ago."""
    with engine.begin() as conn:
        for past in (
            text("UPDATE lease SET expires_at = now() - make_interval(secs => :seconds)"),
            text("UPDATE task_attempt SET claimed_until = now() - make_interval(secs => :seconds)"),
        ):
            conn.execute(past, {"seconds": seconds})


def take(engine: Engine, grace: float = 0, limit: int = 10) -> list[LostAttempt]:
    with engine.begin() as conn:
        return lost_attempts.take_expired(conn, grace, limit)


def lose(engine: Engine) -> list[LostAttempt]:
    """Take over every attempt whose lease has run out, as the scheduler does."""
    with engine.begin() as conn:
        lost = lost_attempts.take_expired(conn, 0, 10)
        lost_attempts.end_lost(
            conn, [(attempt, after_loss(attempt.losses, attempt.on_lost)) for attempt in lost]
        )
    return lost


@pytest.fixture(params=["claimed", "renewed"])
def key(engine: Engine, request: pytest.FixtureRequest) -> AttemptKey:
    """The one attempt that runs: just claimed, or with a lease; it ends in half a minute."""
    [key] = seed.running(engine, seed.dag())
    if request.param == "renewed":
        renew(engine, key)
    return key


def test_a_renewal_holds_from_now_on(engine: Engine, key: AttemptKey) -> None:
    assert renew(engine, key, seconds=HOUR) == {key: False}
    assert renew(engine, key, seconds=HOUR) == {key: False}

    left = text("SELECT extract(epoch FROM expires_at - now()) FROM lease")
    with engine.connect() as conn:
        assert HOUR - 60 < float(conn.execute(left).scalar_one()) <= HOUR


def test_only_the_holder_renews(engine: Engine) -> None:
    mine, taken = seed.running(engine, seed.wide(2))
    strange = replace(taken, token=uuid4())

    assert renew(engine, mine, strange) == {mine: False}
    assert renew(engine, replace(mine, attempt=2)) == {}
    assert renew(engine) == {}


def test_what_has_run_out_and_was_not_taken_is_renewed(engine: Engine, key: AttemptKey) -> None:
    """The clock of the database jumped ahead, or it was away for a while."""
    expire(engine)

    assert renew(engine, key) == {key: False}
    assert take(engine) == []


def test_a_renewal_counts_and_not_until_when_it_was_claimed(engine: Engine) -> None:
    [key] = seed.running(engine, seed.dag())
    renew(engine, key, seconds=HOUR)
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_attempt SET claimed_until = now() - interval '1 hour'"))

    assert take(engine) == []
    assert renew(engine, key) == {key: False}


def test_a_renewal_tells_what_is_to_stop(engine: Engine) -> None:
    stopping, restarting, running = seed.running(engine, seed.wide(3))
    seed.tell_to_stop(engine, [stopping], TaskState.FAILED)
    seed.tell_to_stop(engine, [restarting], TaskState.NONE)

    keys = (running, stopping, restarting)

    for _ in range(2):
        assert renew(engine, *keys) == {running: False, stopping: True, restarting: True}


def test_what_has_ended_is_not_renewed_and_leaves_no_lease(engine: Engine, key: AttemptKey) -> None:
    seed.report(engine, [key])

    assert renew(engine, key) == {}
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM lease")) == 0


def test_what_was_taken_is_not_renewed(engine: Engine, key: AttemptKey) -> None:
    expire(engine)
    assert lose(engine) == [LostAttempt(key, 1, OnLost.RETRY)]

    assert renew(engine, key) == {}
    assert lose(engine) == []


def test_it_is_taken_only_after_the_grace(engine: Engine, key: AttemptKey) -> None:
    assert take(engine) == []
    expire(engine, HOUR)
    assert take(engine, grace=2 * HOUR) == []
    assert [lost.key for lost in take(engine, grace=HOUR / 2)] == [key]


def test_no_more_is_taken_than_asked_for(engine: Engine) -> None:
    keys = seed.running(engine, seed.wide(3))
    expire(engine)

    assert [lost.key for lost in take(engine, limit=2)] == keys[:2]


def test_a_renewal_between_look_and_lock_wins(engine: Engine, key: AttemptKey) -> None:
    """A heartbeat that comes in between counts.  With a negative grace it still can."""
    renewals: list[dict[AttemptKey, bool]] = []

    def come_back() -> None:
        renewals.append(renew(engine, key, seconds=2 * HOUR))

    with just_before(engine, lost_attempts.LOCK, come_back):
        assert take(engine, grace=-HOUR) == []

    assert renewals == [{key: False}]
    assert renew(engine, key) == {key: False}


def test_a_renewal_that_has_not_committed_keeps_others_off(engine: Engine, key: AttemptKey) -> None:
    with engine.begin() as worker:
        leases.renew(worker, [key], 2 * HOUR)
        assert take(engine, grace=-HOUR) == []


def test_a_renewal_that_comes_too_late_waits_and_is_refused(
    engine: Engine, key: AttemptKey
) -> None:
    with engine.connect() as scheduler:
        lost = lost_attempts.take_expired(scheduler, -HOUR, 10)
        with in_background(lambda: renew(engine, key)) as renewal:
            wait_until_blocked(engine)
            lost_attempts.end_lost(scheduler, [(attempt, after_loss(1)) for attempt in lost])
            scheduler.commit()
            assert renewal.result() == {}

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM lease")) == 0


def test_a_report_between_look_and_lock_wins(engine: Engine, key: AttemptKey) -> None:
    expire(engine)

    with just_before(engine, lost_attempts.LOCK, lambda: seed.report(engine, [key])):
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


def test_two_schedulers_take_an_attempt_once(engine: Engine, key: AttemptKey) -> None:
    expire(engine)

    with engine.begin() as first:
        assert len(lost_attempts.take_expired(first, 0, 10)) == 1
        assert take(engine) == []


def test_a_lost_attempt_ends_and_its_task_is_tried_again(engine: Engine, key: AttemptKey) -> None:
    expire(engine)

    assert len(lose(engine)) == 1

    with engine.connect() as conn:
        attempt = conn.execute(text("SELECT * FROM task_attempt")).one()
        task = conn.execute(text("SELECT * FROM task_instance")).one()
        assert conn.scalar(text("SELECT count(*) FROM wake WHERE task_id IS NOT NULL")) == 0
        assert conn.scalar(text("SELECT count(*) FROM lease")) == 0
    assert (attempt.phase, attempt.outcome, attempt.error) == ("ended", "lost", lost_attempts.LOST)
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
        fact = conn.execute(text("SELECT * FROM wake WHERE task_id IS NOT NULL")).one()
    assert (task.state, task.retry_at, task.losses) == ("failed", None, MOST_LOSSES + 1)
    assert (fact.task_id, fact.state) == ("work", "failed")


def test_each_task_has_its_own_policy_for_what_is_lost(engine: Engine) -> None:
    policies = {"once": OnLost.FAIL, "again": OnLost.RETRY}
    tasks = [replace(seed.task(name), on_lost=policies[name]) for name in policies]
    seed.running(engine, seed.dag(*tasks))
    expire(engine)

    assert [lost.on_lost for lost in lose(engine)] == [OnLost.FAIL, OnLost.RETRY]
    assert seed.task_states(engine) == {"once": "failed", "again": "up_for_retry"}


@pytest.mark.parametrize("target", [TaskState.SUCCESS, TaskState.NONE])
def test_one_that_was_told_to_stop_and_was_lost_ends_as_it_was_told(
    engine: Engine, key: AttemptKey, target: TaskState
) -> None:
    seed.tell_to_stop(engine, [key], target)
    expire(engine)

    assert [lost.key for lost in lose(engine)] == [key]

    assert seed.task_states(engine) == {"work": target}
    with engine.connect() as conn:
        assert attempts.reported(conn, key) is Outcome.LOST
        assert conn.scalar(text("SELECT losses FROM task_instance")) == 0
        assert conn.scalar(text("SELECT count(*) FROM wake")) > 0


def test_the_counts_tell_the_living_from_the_dead(engine: Engine) -> None:
    dead, alive = seed.register(engine, "worker"), seed.register(engine, "worker")
    seed.queued(engine, seed.wide(5))
    seed.claim(engine, dead, limit=2)
    seed.claim(engine, alive, limit=2)
    with engine.begin() as conn:
        processes.leave(conn, dead)
        assert lost_attempts.count_silent(conn, 0) == SilenceCount(running=2, expired=0, orphaned=0)

    expire(engine)

    with engine.connect() as conn:
        assert lost_attempts.count_silent(conn, 10) == SilenceCount(
            running=2, expired=2, orphaned=2
        )
        assert lost_attempts.count_silent(conn, 2 * HOUR) == SilenceCount(
            running=2, expired=0, orphaned=0
        )


def test_in_a_storm_the_living_have_longer_and_the_dead_have_not(engine: Engine) -> None:
    """Claims of half a minute, a grace of ten seconds: 10, and 50 in a storm."""
    dead, alive = seed.register(engine, "worker"), seed.register(engine, "worker")
    seed.queued(engine, seed.wide(2))
    [orphaned] = seed.claim(engine, dead, limit=1)
    [held] = seed.claim(engine, alive, limit=1)
    with engine.begin() as conn:
        processes.leave(conn, dead)

    def lost_keys(since: float) -> list[AttemptKey]:
        until = text("""
            UPDATE task_attempt
               SET claimed_until = now() - make_interval(secs => :since),
                   started_at = now() - make_interval(secs => :since + 30)
        """)
        with engine.connect() as conn:
            conn.execute(until, {"since": since})
            return [lost.key for lost in lost_attempts.take_expired(conn, 10, 10, storm=True)]

    assert lost_keys(9) == []
    assert lost_keys(11) == lost_keys(49) == [orphaned.key]
    assert lost_keys(51) == [orphaned.key, held.key]
