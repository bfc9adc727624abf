"""Attempts: each is claimed once and ended once, by who holds its token."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text

from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.processes import Identity
from headway.db.execution import attempts, handles, leases
from headway.db.execution.attempts import Claimed, Report
from headway.domain.dag.retry import Next
from headway.domain.interval import DataInterval
from headway.domain.states import Outcome, RunType, TaskState
from headway.testing.data import seed
from headway.testing.database.interleaving import in_background, just_before, wait_until_blocked

FAILED = Next(TaskState.FAILED)
RETRY = Next(TaskState.UP_FOR_RETRY, timedelta(seconds=90))

TASK = text("SELECT * FROM task_instance WHERE id = :id")
ATTEMPT = text("SELECT * FROM task_attempt WHERE task_instance_id = :id AND attempt = :attempt")


def claim(
    engine: Engine, me: Identity, queues: Sequence[str] = ("default",), limit: int = 100
) -> list[Claimed]:
    with engine.begin() as conn:
        return attempts.claim(conn, me, queues, limit, 30)


def task_ids(claimed: Sequence[Claimed]) -> list[str]:
    return [each.task_id for each in claimed]


def reported(engine: Engine, key: AttemptKey) -> Outcome | None:
    with engine.connect() as conn:
        return attempts.reported(conn, key)


@pytest.fixture
def worker(engine: Engine) -> Identity:
    return seed.register(engine, "worker")


@pytest.fixture
def key(engine: Engine) -> AttemptKey:
    """The one attempt that runs."""
    [key] = seed.running(engine, seed.dag())
    return key


def test_a_worker_learns_all_that_it_needs(engine: Engine, worker: Identity) -> None:
    [task_id] = seed.queued(engine, seed.dag())

    [claimed] = claim(engine, worker)

    assert (claimed.key.task_instance_id, claimed.key.attempt) == (task_id, 1)
    assert (claimed.dag_id, claimed.task_id, claimed.map_index) == ("etl", "work", -1)
    assert (claimed.run_id, claimed.run_type) == (
        "scheduled__2024-01-01T00:00:00+00:00",
        RunType.SCHEDULED,
    )
    assert claimed.interval == DataInterval(seed.START, seed.START + seed.DAY)
    assert claimed.schedule_date == claimed.run_after == seed.START + seed.DAY
    assert claimed.run_started_at == seed.START
    assert (claimed.failures, claimed.conf) == (0, {})


def test_a_claim_gives_a_token_and_holds_for_a_while(engine: Engine, worker: Identity) -> None:
    seed.queued(engine, seed.wide(2))

    one, other = claim(engine, worker)

    held = text("""
        SELECT phase, process_id, token, claimed_until > now() AS held,
               claimed_until - started_at <= interval '30 seconds' AS no_longer
          FROM task_attempt ORDER BY task_instance_id
    """)
    with engine.connect() as conn:
        attempts_held = conn.execute(held).all()
        assert conn.scalar(text("SELECT count(*) FROM lease")) == 0
    assert one.key.token != other.key.token
    assert attempts_held == [
        ("running", worker.id, one.key.token, True, True),
        ("running", worker.id, other.key.token, True, True),
    ]
    assert set(seed.task_states(engine).values()) == {"running"}


def test_an_attempt_is_claimed_by_one_of_two_workers(engine: Engine, worker: Identity) -> None:
    """The other one comes when the first has claimed, and has not committed."""
    seed.queued(engine, seed.wide(3))
    rival = seed.register(engine, "worker")
    others: list[Claimed] = []

    with just_before(engine, attempts.FACTS, lambda: others.extend(claim(engine, rival))):
        mine = claim(engine, worker, limit=2)

    assert task_ids(mine) == ["t0", "t1"]
    assert task_ids(others) == ["t2"]


def test_two_workers_of_the_same_host_and_pid_are_two(engine: Engine, worker: Identity) -> None:
    """As in two containers: it is the token that tells them apart."""
    seed.queued(engine, seed.dag())
    twin = seed.register(engine, "worker")
    [mine] = claim(engine, worker)

    assert claim(engine, twin) == []
    assert seed.report(engine, [replace(mine.key, token=uuid4())]) == set()
    assert seed.report(engine, [mine.key]) == {mine.key}


def test_a_task_that_somebody_has_locked_is_left_for_later(
    engine: Engine, worker: Identity
) -> None:
    """A user's action, say, which locks the task first: nobody waits, nobody is in the way."""
    locked, _ = seed.queued(engine, seed.wide(2))

    with engine.begin() as user:
        user.execute(attempts.LOCK_TASKS, {"ids": [locked]})
        assert task_ids(claim(engine, worker)) == ["t1"]

    assert task_ids(claim(engine, worker)) == ["t0"]


def test_of_several_queues_no_more_is_claimed_than_asked_for(
    engine: Engine, worker: Identity
) -> None:
    names = [("a1", "a", 1), ("b1", "b", 9), ("a2", "a", 5), ("b2", "b", 3)]
    tasks = [
        replace(seed.task(name), queue=queue, priority_weight=weight)
        for name, queue, weight in names
    ]
    seed.queued(engine, seed.dag(*tasks))

    assert task_ids(claim(engine, worker, ["a", "b", "a"], limit=3)) == ["b1", "a2", "b2"]
    assert task_ids(claim(engine, worker, ["b", "a"])) == ["a1"]


def test_workers_that_claim_do_not_wait_for_each_other(engine: Engine, worker: Identity) -> None:
    seed.queued(engine, seed.wide(2))
    rival = seed.register(engine, "worker")

    with engine.begin() as conn:
        first = attempts.claim(conn, worker, ["default"], 1, 30)
        second = claim(engine, rival)

    assert task_ids(first) + task_ids(second) == ["t0", "t1"]


def test_a_claim_takes_nothing_of_other_queues(engine: Engine, worker: Identity) -> None:
    tasks = [replace(seed.task(name), queue=name) for name in ("big", "default", "small")]
    seed.queued(engine, seed.dag(*tasks))

    assert task_ids(claim(engine, worker, ["small", "big", "none"])) == ["big", "small"]
    assert claim(engine, worker, []) == []
    assert task_ids(claim(engine, worker)) == ["default"]


def test_a_claim_takes_the_most_urgent_first(engine: Engine, worker: Identity) -> None:
    weights = {"low": 1, "high": 9, "middle": 5, "also_high": 9}
    tasks = [replace(seed.task(name), priority_weight=weights[name]) for name in weights]
    seed.queued(engine, seed.dag(*tasks))

    turns = [task_ids(claim(engine, worker, limit=1)) for _ in weights]

    assert turns == [["high"], ["also_high"], ["middle"], ["low"]]


def test_a_claim_never_takes_more_than_its_limit_whatever_the_plan(
    engine: Engine, worker: Identity
) -> None:
    seed.queued(engine, seed.wide(50))
    with engine.begin() as conn:
        for plan in ("hashjoin", "mergejoin", "material", "sort"):
            conn.execute(text(f"SET LOCAL enable_{plan} = off"))
        assert len(attempts.claim(conn, worker, ["default"], 7, 30)) == 7

    assert list(seed.task_states(engine).values()).count("running") == 7


def test_a_report_ends_the_attempt_and_wakes_the_run(engine: Engine, key: AttemptKey) -> None:
    with engine.begin() as conn:
        conn.execute(text("DELETE FROM wake"))

    assert seed.report(engine, [key]) == {key}

    assert seed.task_states(engine) == {"work": "success"}
    with engine.connect() as conn:
        ended = conn.execute(ATTEMPT, {"id": key.task_instance_id, "attempt": 1}).one()
        assert (ended.phase, ended.outcome, ended.ended_at is None) == ("ended", "success", False)
        assert conn.scalar(text("SELECT count(*) FROM lease")) == 0
        assert conn.scalar(text("SELECT count(*) FROM wake")) == 1


@pytest.mark.parametrize(
    ("outcome", "failures"),
    [(Outcome.FAILED, 1), (Outcome.TIMED_OUT, 1), (Outcome.LOST, 0), (Outcome.CANCELLED, 0)],
)
def test_only_what_user_code_failed_counts_as_a_failure(
    engine: Engine, key: AttemptKey, outcome: Outcome, failures: int
) -> None:
    seed.report(engine, [key], outcome, FAILED)

    with engine.connect() as conn:
        task = conn.execute(TASK, {"id": key.task_instance_id}).one()
    assert (task.state, task.failures, task.retry_at) == ("failed", failures, None)


def test_a_report_may_ask_for_another_try(engine: Engine, key: AttemptKey) -> None:
    seed.report(engine, [key], Outcome.FAILED, RETRY)

    with engine.connect() as conn:
        task = conn.execute(TASK, {"id": key.task_instance_id}).one()
    assert (task.state, task.retry_at - task.ended_at) == ("up_for_retry", RETRY.delay)


def test_a_report_keeps_the_error_and_what_the_task_skips(engine: Engine, key: AttemptKey) -> None:
    skips = ["left", 'a "quoted", {braced} one']
    told = Report(
        key=key, outcome=Outcome.SUCCESS, following=seed.SUCCESS, error="so so", skips=skips
    )
    with engine.begin() as conn:
        attempts.report(conn, [told])

        assert conn.execute(TASK, {"id": key.task_instance_id}).one().skips == skips
        found = conn.execute(ATTEMPT, {"id": key.task_instance_id, "attempt": 1}).one()
        assert found.error == "so so"


def test_a_report_whose_acknowledgement_was_lost_is_sent_again_and_known(
    engine: Engine, key: AttemptKey
) -> None:
    seed.report(engine, [key], Outcome.FAILED, RETRY)

    assert seed.report(engine, [key], Outcome.FAILED, RETRY) == set()
    assert reported(engine, key) is Outcome.FAILED
    with engine.connect() as conn:
        assert conn.execute(TASK, {"id": key.task_instance_id}).one().failures == 1


def test_a_second_report_cannot_change_the_first(engine: Engine, key: AttemptKey) -> None:
    seed.report(engine, [key], Outcome.FAILED, FAILED)

    assert seed.report(engine, [key]) == set()
    assert reported(engine, key) is Outcome.FAILED
    assert seed.task_states(engine) == {"work": "failed"}


def test_another_token_changes_nothing(engine: Engine, key: AttemptKey) -> None:
    other = replace(key, token=uuid4())

    assert seed.report(engine, [other]) == set()
    with engine.begin() as conn:
        assert not handles.save(conn, other, {"app": 1})
        assert handles.save(conn, key, {"app": 2})

    assert reported(engine, other) is None
    assert seed.task_states(engine) == {"work": "running"}
    seed.report(engine, [key])
    assert reported(engine, other) is None
    with engine.begin() as conn:
        assert not handles.save(conn, key, {"app": 3})
        found = conn.execute(ATTEMPT, {"id": key.task_instance_id, "attempt": 1}).one()
        assert found.handle == {"app": 2}


def test_a_report_does_not_move_a_task_that_a_user_has_moved(
    engine: Engine, key: AttemptKey
) -> None:
    """Nothing does that: but if it did, the attempt would be over all the same."""
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET state = 'restarting'"))

    assert seed.report(engine, [key]) == set()
    assert seed.task_states(engine) == {"work": "restarting"}
    assert reported(engine, key) is Outcome.SUCCESS


def test_a_batch_is_taken_but_for_what_was_given_away(engine: Engine) -> None:
    kept, stranger, also_kept = seed.running(engine, seed.wide(3))
    strange = replace(stranger, token=uuid4())

    assert seed.report(engine, [also_kept, strange, kept]) == {kept, also_kept}
    assert seed.task_states(engine) == {"t0": "success", "t1": "running", "t2": "success"}


def test_each_report_of_a_batch_counts_for_its_own_task(engine: Engine) -> None:
    good, bad = seed.running(engine, seed.wide(2))
    reports = [
        Report(key=bad, outcome=Outcome.FAILED, following=RETRY, error="no"),
        Report(key=good, outcome=Outcome.SKIPPED, following=Next(TaskState.SKIPPED)),
    ]
    with engine.begin() as conn:
        assert attempts.report(conn, reports).keys() == {good, bad}

    assert seed.task_states(engine) == {"t0": "skipped", "t1": "up_for_retry"}


def test_reports_in_opposite_orders_wait_for_each_other_and_both_count(engine: Engine) -> None:
    """Two workers, or a worker and who takes over from it, report the same tasks."""
    first, second = seed.running(engine, seed.wide(2))

    with engine.connect() as mine:
        mine.execute(attempts.LOCK_TASKS, {"ids": [first.task_instance_id]})
        with in_background(lambda: seed.report(engine, [second, first])) as theirs:
            wait_until_blocked(engine)
            mine.execute(attempts.LOCK_TASKS, {"ids": [second.task_instance_id]})
            mine.commit()
            assert theirs.result() == {first, second}


def test_a_report_and_a_renewal_lock_in_the_same_order(engine: Engine) -> None:
    """They come from two threads of one worker, each with its own order of attempts."""
    first, second = seed.running(engine, seed.wide(2))

    with engine.connect() as renewing:
        leases.renew(renewing, [first], 30)
        with in_background(lambda: seed.report(engine, [second, first])) as reporting:
            wait_until_blocked(engine)
            assert leases.renew(renewing, [second], 30) == {second: False}
            renewing.commit()
            assert reporting.result() == {first, second}


def test_a_renewal_and_a_report_lock_in_the_same_order(engine: Engine) -> None:
    first, second = seed.running(engine, seed.wide(2))
    ended = [
        Report(key=key, outcome=Outcome.SUCCESS, following=seed.SUCCESS) for key in (first, second)
    ]

    def renew() -> dict[AttemptKey, bool]:
        with engine.begin() as conn:
            return leases.renew(conn, [second, first], 30)

    with engine.connect() as reporting:
        attempts.report(reporting, ended[:1])
        with in_background(renew) as renewing:
            wait_until_blocked(engine)
            attempts.report(reporting, ended[1:])
            reporting.commit()
            assert renewing.result() == {}
