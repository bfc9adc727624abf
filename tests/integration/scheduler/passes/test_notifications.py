"""Notifications: entered with what has happened, gathered, sent by one worker at a time."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

from headway.db.access.logins import Login
from headway.db.core import run_deadlines
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.engine import reader
from headway.db.core.processes import Identity
from headway.db.execution import attempts, callback_claims, notification_claims
from headway.db.execution.attempts import Report
from headway.db.execution.callback_claims import CallbackReport
from headway.db.execution.notification_claims import ClaimedNotification, NotificationKey
from headway.db.reads import notification_views
from headway.db.scheduling import notifications, tasks
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.deadline import DeadlineSpec
from headway.domain.dag.notifiers import MOST_SENDS, MOST_TOLD, NotifierSpec, NotifyEvent
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DagSpec
from headway.domain.states import CallbackState, Outcome, TaskState
from headway.runtime.settings import configuration
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.data import callbacks, seed
from headway.testing.data.granted import ask, grant, store
from headway.testing.database.interleaving import in_background, wait_until_blocked
from headway.testing.database.logins import logged_in
from headway_scheduler.passes.gather_notifications import gather_notifications
from headway_scheduler.passes.judge_deadlines import judge_deadlines
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.replica.replica import Replica
from headway_worker.database.callback_database import CallbackDatabase, NotificationWork
from headway_worker.database.code import CodeCache
from headway_worker.database.worker_database import WorkerDatabase

FAILED = Next(TaskState.FAILED)
OPS = NotifierSpec(connection="ops", on=(NotifyEvent.FAILURE,))
AGAIN = NotifierSpec(connection="ops", on=(NotifyEvent.RETRY,))
LATE = NotifierSpec(connection="crew", on=(NotifyEvent.MISSED_DEADLINE,))
DONE, LOST, BACK = CallbackState.SUCCESS, CallbackState.FAILED, CallbackState.QUEUED

EVENTS = text("""
    SELECT it.event, it.task_id, it.attempt, it.reason, it.cause,
           notifier.definition ->> 'connection' AS connection
      FROM notified_event AS it JOIN notifier ON notifier.hash = it.notifier ORDER BY it.id
""")
NOW = text("UPDATE notification SET due_at = now() WHERE ended_at IS NULL")
EXPIRE = text(
    "UPDATE notification SET claimed_until = now() - interval '1 s' WHERE state = 'running'"
)


def events(engine: Engine) -> list[tuple[Any, ...]]:
    with engine.connect() as conn:
        return [tuple(row) for row in conn.execute(EVENTS)]


def stored(engine: Engine) -> list[tuple[Any, ...]]:
    with engine.connect() as conn:
        found = text("SELECT state, tries, error FROM notification ORDER BY id")
        return [tuple(row) for row in conn.execute(found)]


def do(engine: Engine, statement: Any) -> None:
    with engine.begin() as conn:
        conn.execute(statement)


def claim(engine: Engine, me: Identity, limit: int = 10) -> list[ClaimedNotification]:
    with engine.begin() as conn:
        return notification_claims.claim(conn, me, limit, 30)


def tell(
    engine: Engine,
    me: Identity,
    key: NotificationKey,
    state: CallbackState = DONE,
    error: str | None = None,
) -> bool:
    with engine.begin() as conn:
        error = "no luck" if state is LOST else error
        return notification_claims.report(conn, me, key, CallbackReport(key, state, error))


def having(spec: DagSpec, *notifiers: NotifierSpec) -> DagSpec:
    """Return the DAG with notifiers of all its tasks."""
    tasks = tuple(replace(task, notifiers=notifiers) for task in spec.tasks)
    return replace(spec, tasks=tasks)


def end(
    engine: Engine,
    keys: Sequence[AttemptKey],
    outcome: Outcome = Outcome.FAILED,
    following: Next = FAILED,
) -> None:
    """Report ends of attempts as their worker does, which knows their specification."""
    reports = [
        Report(
            key=key, outcome=outcome, following=following, error="x", notifies=tuple(CallbackEvent)
        )
        for key in keys
    ]
    with engine.begin() as conn:
        assert len(attempts.report(conn, reports)) == len(keys)


def fail(engine: Engine, spec: DagSpec) -> None:
    """Have all tasks of one run fail."""
    end(engine, seed.running(engine, spec))


@pytest.fixture
def worker(engine: Engine) -> Identity:
    return seed.register(engine, "worker")


@pytest.fixture
def replica(new_replica: Callable[..., Replica]) -> Replica:
    return new_replica(notification_gather_time=0)


@pytest.fixture
def sent(engine: Engine, replica: Replica, worker: Identity) -> ClaimedNotification:
    """A notification that a worker has claimed."""
    fail(engine, having(seed.dag(), OPS))
    gather_notifications(replica)
    [claimed] = claim(engine, worker)
    return claimed


def test_ends_of_attempts_and_of_runs_are_told_to_whom_they_are_for(
    engine: Engine, replica: Replica
) -> None:
    spec = replace(having(seed.dag(), OPS, AGAIN), notifiers=(replace(OPS, connection="boss"),))
    keys = seed.running(engine, spec)
    end(engine, keys, following=Next(TaskState.UP_FOR_RETRY, timedelta(0)))
    assert events(engine) == [("retry", "work", 1, "failed", "x", "ops")]
    with engine.begin() as conn:
        ready = list(conn.scalars(text("SELECT id FROM task_instance")))
        tasks.schedule_retries(conn, seed.START + 10_000 * seed.DAY, 10, seed.AGING)
        tasks.queue(conn, ready, seed.START, seed.SCHEDULER)
    [again] = seed.claim(engine, seed.register(engine, "worker"))
    end(engine, [again.key])
    schedule_tasks(replica, seed.START)

    assert events(engine)[1:] == [
        ("failure", "work", 2, "failed", "x", "ops"),
        ("failure", None, None, "task_failure", None, "boss"),
    ]


def test_success_is_not_told_to_whom_it_is_not_for(engine: Engine) -> None:
    end(engine, seed.running(engine, having(seed.dag(), OPS, AGAIN)), Outcome.SUCCESS, seed.SUCCESS)

    assert events(engine) == []


def test_a_missed_deadline_is_told_once_to_each(engine: Engine, replica: Replica) -> None:
    hourly = (DeadlineSpec(seconds=3600.0),)
    work = replace(seed.task("work"), slas=hourly, notifiers=(LATE,))
    other = replace(LATE, connection="boss")
    spec = replace(seed.dag(work), deadlines=hourly, notifiers=(LATE, other))
    [run] = seed.create_runs(engine, seed.store(engine, spec), [0])
    with engine.begin() as conn:
        run_deadlines.enter(conn, [run])
    for _ in range(2):
        judge_deadlines(replica, seed.START + 2 * seed.DAY)

    name, due = "1:00:00 after due", "2024-01-02T01:00:00Z"
    assert sorted(events(engine), key=str) == [
        ("missed_deadline", task, None, name, due, who)
        for task in ("work", None)
        for who in ("boss", "crew")
    ]


def test_a_flood_is_one_message_with_a_count(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    seed.queued(engine, having(seed.wide(500), OPS))
    end(engine, [attempt.key for attempt in seed.claim(engine, worker, limit=500)])

    assert [gather_notifications(replica), gather_notifications(replica)] == [500, 0]

    [message] = claim(engine, worker)
    assert (message.events, len(message.told)) == (500, MOST_TOLD)
    assert message.told[0]["reason"] == "failed"
    assert message.definition["connection"] == "ops"
    assert claim(engine, worker) == []


def test_what_two_schedulers_gather_at_once_is_one_message(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    keys = seed.running(engine, having(seed.wide(2), OPS))
    end(engine, keys[:1])
    other = new_replica(notification_gather_time=0)
    background: list[Any] = []

    def meanwhile() -> None:
        end(engine, keys[1:])
        background.append(in_background(lambda: gather_notifications(other)))
        background[0].__enter__()
        wait_until_blocked(engine, 1)

    assert gather_notifications(replica, before_commit=meanwhile) == 1
    background[0].__exit__(None, None, None)

    with engine.connect() as conn:
        found = "SELECT count(DISTINCT notification_id), count(*) FROM notified_event"
        assert conn.execute(text(found)).one() == (1, 2)


def test_what_happens_after_a_claim_is_told_by_another_message_and_later(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    keys = seed.running(engine, having(seed.wide(2), OPS))
    end(engine, keys[:1])
    gather_notifications(replica)
    [first] = claim(engine, worker)
    end(engine, keys[1:])
    gather_notifications(replica)

    assert claim(engine, worker) == []  # not at once: spacing
    do(engine, NOW)
    [second] = claim(engine, worker)
    assert (first.events, second.events) == (1, 1)
    assert first.message_key != second.message_key
    assert first.told != second.told


def test_who_looks_in_vain_asks_once_and_claims_only_what_there_is(
    engine: Engine, replica: Replica, worker: Identity, tmp_path: Path
) -> None:
    desk = WorkerDatabase(engine, worker, configuration.read(WorkerSettings), CodeCache(tmp_path))
    database = CallbackDatabase(desk)
    seen: list[object] = []
    for each in (engine, reader(engine)):
        event.listen(each, "before_execute", lambda _c, statement, *_: seen.append(statement))
    assert not database.any_queued()
    assert seen == [callback_claims.DUE]
    fail(engine, having(seed.dag(), OPS))
    gather_notifications(replica)
    seen.clear()

    assert database.any_queued()
    [work] = database.claim(5)

    assert isinstance(work, NotificationWork)
    assert {callback_claims.CLAIM, callback_claims.GIVE_UP}.isdisjoint(seen)
    other = replace(callbacks.caring(CallbackEvent.SUCCESS), dag_id="other")
    callbacks.report(engine, seed.running(engine, other)[0])
    seen.clear()
    assert database.any_queued()
    database.claim(5)
    assert callback_claims.CLAIM in seen
    assert {notification_claims.CLAIM, notification_claims.GIVE_UP}.isdisjoint(seen)


def test_a_message_is_sent_by_one_worker_and_under_one_key_however_often(
    engine: Engine, sent: ClaimedNotification, worker: Identity
) -> None:
    other = seed.register(engine, "worker")
    assert claim(engine, other) == []
    do(engine, EXPIRE)

    [again] = claim(engine, other)

    assert (again.message_key, again.tries) == (sent.message_key, 2)
    with engine.begin() as conn:
        assert notification_claims.renew(conn, [sent.key], 30) == set()
        assert notification_claims.renew(conn, [again.key], 30) == {again.key}
    assert not tell(engine, worker, sent.key)
    assert tell(engine, other, again.key)
    assert tell(engine, other, again.key)  # its answer was lost
    assert stored(engine) == [("success", 2, None)]


def test_what_could_not_be_sent_is_sent_later_and_given_up_in_the_end(
    engine: Engine, sent: ClaimedNotification, worker: Identity
) -> None:
    key = sent.key
    for tries in range(1, MOST_SENDS):
        assert tell(engine, worker, key, LOST)
        assert stored(engine) == [("queued", tries, "no luck")]
        assert claim(engine, worker) == []  # it waits
        do(engine, NOW)
        [claimed] = claim(engine, worker)
        key = claimed.key
    assert tell(engine, worker, key, LOST)

    assert stored(engine) == [("failed", MOST_SENDS, "no luck")]
    with engine.connect() as conn:
        [details] = conn.scalars(
            text("SELECT details FROM event WHERE action = 'notification.failed'")
        )
    assert details["error"] == "no luck"


def test_whom_one_that_was_sent_has_not_reached_is_shown(
    engine: Engine, sent: ClaimedNotification, worker: Identity
) -> None:
    assert tell(engine, worker, sent.key, error="Sent, but not to b")

    with engine.connect() as conn:
        [row] = notification_views.notifications(conn)
    assert (row.state, row.error) == ("success", "Sent, but not to b")


def test_one_that_is_handed_back_has_not_been_tried(
    engine: Engine, sent: ClaimedNotification, worker: Identity
) -> None:
    assert tell(engine, worker, sent.key, BACK)

    assert stored(engine) == [("queued", 0, None)]
    assert [notification.tries for notification in claim(engine, worker)] == [1]


def test_workers_that_die_with_it_again_and_again_end_it(
    engine: Engine, sent: ClaimedNotification, worker: Identity
) -> None:
    for _ in range(MOST_SENDS - 1):
        do(engine, EXPIRE)
        claim(engine, worker)
    do(engine, EXPIRE)

    assert claim(engine, worker) == []
    [(state, tries, error)] = stored(engine)
    assert (state, tries) == ("failed", MOST_SENDS)
    assert "may have been sent" in error


@pytest.mark.parametrize("granted", [True, False])
def test_it_reads_what_its_dag_is_granted_and_only_its_worker_does(
    engine: Engine, database_url: str, replica: Replica, granted: bool
) -> None:
    store(engine)
    if granted:
        grant(engine, "etl")
    fail(engine, having(seed.dag(), OPS))
    gather_notifications(replica)
    me, other = seed.register(engine, "worker"), seed.register(engine, "worker")
    [claimed] = claim(engine, me)

    with logged_in(database_url, Login.WORKER) as worker:
        answer = ask(worker, me, claimed.key)
        assert answer is not None
        assert (answer.granted, answer.sealed is not None) == (granted, granted)
        assert ask(worker, other, claimed.key) is None
        tell(engine, me, claimed.key)
        assert ask(worker, me, claimed.key) is None


def test_the_oldest_wait_is_measured(engine: Engine, replica: Replica, worker: Identity) -> None:
    with engine.connect() as conn:
        assert notifications.oldest_wait(conn) == 0
    fail(engine, having(seed.dag(), OPS))
    do(engine, text("UPDATE notified_event SET created_at = now() - interval '1 hour'"))
    with engine.connect() as conn:
        assert notifications.oldest_wait(conn) >= 3600
