"""Callbacks that wait: each is claimed and ended by one worker at a time."""

from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author
from headway.actions.runs.delete import delete_run
from headway.db.access.logins import Login
from headway.db.core.processes import Identity
from headway.db.execution import callback_claims
from headway.db.execution.callback_claims import CallbackKey, CallbackReport, ClaimedCallback
from headway.db.reads import event_views
from headway.db.reads.event_views import EventView
from headway.domain.dag.callbacks import MOST_TRIES, CallbackEvent
from headway.domain.dag.spec import DEFAULT_QUEUE
from headway.domain.states import CallbackState
from headway.testing.data import seed
from headway.testing.data.callbacks import ALL, caring, report, rows, runs
from headway.testing.data.granted import ask, grant, store
from headway.testing.data.known import known
from headway.testing.database.logins import logged_in
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.replica.replica import Replica

ANN = Author("user:ann")
DONE, FAILED, BACK = CallbackState.SUCCESS, CallbackState.FAILED, CallbackState.QUEUED

EXPIRE = text("UPDATE callback SET claimed_until = now() - interval '1 s' WHERE state = 'running'")


def claim(
    engine: Engine, me: Identity, limit: int = 10, queue: str = DEFAULT_QUEUE
) -> list[ClaimedCallback]:
    with engine.begin() as conn:
        return callback_claims.claim(conn, me, [queue], limit, 30)


def tell(engine: Engine, me: Identity, key: CallbackKey, state: CallbackState = DONE) -> bool:
    with engine.begin() as conn:
        error = "no luck" if state is FAILED else None
        return callback_claims.report(conn, me, CallbackReport(key, state, error))


def renew(engine: Engine, key: CallbackKey) -> bool:
    with engine.begin() as conn:
        return key in callback_claims.renew(conn, [key], 30)


def expire(engine: Engine) -> None:
    with engine.begin() as conn:
        conn.execute(EXPIRE)


@pytest.fixture
def worker(engine: Engine) -> Identity:
    return seed.register(engine, "worker")


@pytest.fixture
def other(engine: Engine) -> Identity:
    return seed.register(engine, "worker")


@pytest.fixture
def queued(engine: Engine) -> int:
    """A callback that waits."""
    [key] = seed.running(engine, caring(*ALL))
    report(engine, key)
    [row] = rows(engine)
    return int(row.callback)


def test_a_callback_is_claimed_with_all_that_is_to_be_known(
    engine: Engine, queued: int, worker: Identity
) -> None:
    [claimed] = claim(engine, worker)
    [run] = runs(engine)

    assert (claimed.key.id, claimed.tries, claimed.event) == (queued, 1, CallbackEvent.SUCCESS)
    assert (claimed.dag_id, claimed.run_id, claimed.task_id) == ("etl", run.run_id, "work")
    assert (claimed.map_index, claimed.attempt, claimed.reason) == (-1, 1, "success")
    assert (claimed.interval.start, claimed.run_started_at) == (seed.START, run.started_at)
    assert claim(engine, worker) == []


def test_only_its_worker_reads_what_its_dag_is_granted(
    engine: Engine, database_url: str, queued: int, worker: Identity, other: Identity
) -> None:
    store(engine)
    grant(engine, "etl")
    [claimed] = claim(engine, worker)

    with logged_in(database_url, Login.WORKER) as login:
        answer = ask(login, worker, claimed.key)
        assert answer is not None
        assert answer.granted
        assert ask(login, other, claimed.key) is None
        assert ask(login, worker, replace(claimed.key, id=queued + 1)) is None
        assert ask(login, worker, replace(claimed.key, token=uuid4())) is None
        tell(engine, worker, claimed.key)
        assert ask(login, worker, claimed.key) is None


def test_two_workers_claim_each_callback_once(
    engine: Engine, worker: Identity, other: Identity
) -> None:
    keys = seed.running(engine, seed.wide(4))
    for key in keys:
        report(engine, key)

    with engine.begin() as conn:
        mine = callback_claims.claim(conn, worker, [DEFAULT_QUEUE], 3, 30)
        theirs = claim(engine, other)

    assert (len(mine), len(theirs)) == (3, 1)
    assert not {callback.key.id for callback in mine} & {callback.key.id for callback in theirs}


def test_a_callback_is_for_workers_of_its_tasks_queue_and_one_of_a_run_for_all(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    spec = caring(*ALL, of_run=(CallbackEvent.SUCCESS,))
    [key] = seed.running(engine, spec)
    report(engine, key)
    schedule_tasks(replica, seed.START)

    with engine.connect() as conn:
        assert callback_claims.due(conn, ["gpu"]).callbacks
    assert [callback.task_id for callback in claim(engine, worker, queue="gpu")] == [None]
    with engine.connect() as conn:
        assert not callback_claims.due(conn, ["gpu"]).callbacks
        assert callback_claims.due(conn, [DEFAULT_QUEUE]).callbacks
    assert [callback.task_id for callback in claim(engine, worker)] == ["work"]


@pytest.mark.parametrize("state", [DONE, FAILED])
def test_it_ends_once_and_is_told_of_twice_at_most(
    engine: Engine, queued: int, worker: Identity, state: CallbackState
) -> None:
    [claimed] = claim(engine, worker)

    assert tell(engine, worker, claimed.key, state)
    assert tell(engine, worker, claimed.key, state)  # the answer to the first was lost
    assert not tell(engine, worker, claimed.key, FAILED if state is DONE else DONE)

    [row] = rows(engine)
    assert (row.state, row.error) == (state, "no luck" if state is FAILED else None)
    [told] = [event for event in events(engine) if event.action.startswith("callback.")]
    assert (told.action, told.task_id) == (f"callback.{state}", "work")
    assert told.details["callback"] == queued


def events(engine: Engine) -> list[EventView]:
    with engine.connect() as conn:
        return event_views.events(conn, "etl")


def test_what_a_dead_worker_leaves_is_anothers_and_the_first_is_fenced(
    engine: Engine, queued: int, worker: Identity, other: Identity
) -> None:
    [first] = claim(engine, worker)
    assert claim(engine, other) == []
    assert renew(engine, first.key)
    expire(engine)
    assert not renew(engine, first.key)  # it must not run any more, whoever has it

    [second] = claim(engine, other)

    assert (second.key.id, second.tries) == (queued, 2)
    assert not renew(engine, first.key)
    assert not tell(engine, worker, first.key)
    assert not tell(engine, worker, first.key, BACK)
    assert rows(engine)[0].state == "running"
    assert renew(engine, second.key)
    assert tell(engine, other, second.key)


def test_a_claim_waits_for_nobody_and_judges_what_it_has_locked(
    engine: Engine, queued: int, worker: Identity, other: Identity
) -> None:
    """A renewal that is under way keeps the callback its worker's."""
    [first] = claim(engine, worker)
    expire(engine)

    with engine.begin() as conn:
        conn.execute(text("UPDATE callback SET claimed_until = now() + interval '9 s'"))
        assert claim(engine, other) == []

    assert claim(engine, other) == []
    assert renew(engine, first.key)


def test_it_is_begun_so_often_and_then_given_up(
    engine: Engine, queued: int, worker: Identity
) -> None:
    for tries in range(1, MOST_TRIES + 1):
        [claimed] = claim(engine, worker)
        assert claimed.tries == tries
        expire(engine)

    assert claim(engine, worker) == []

    [row] = rows(engine)
    assert (row.state, row.tries) == ("failed", MOST_TRIES)
    assert "It was begun 3 times" in known(row.error)
    assert events(engine)[0].action == "callback.failed"
    assert seed.task_states(engine) == {"work": "success"}


def test_one_that_is_handed_back_waits_again_and_keeps_its_tries(
    engine: Engine, queued: int, worker: Identity, other: Identity
) -> None:
    for _ in range(MOST_TRIES + 1):
        [claimed] = claim(engine, worker)
        assert tell(engine, worker, claimed.key, BACK)
        assert not tell(engine, worker, claimed.key)

    [again] = claim(engine, other)
    assert again.tries == 1


def test_a_run_is_deleted_with_its_callbacks_and_whoever_runs_one_is_fenced(
    engine: Engine, queued: int, worker: Identity
) -> None:
    [claimed] = claim(engine, worker)
    [run] = runs(engine)
    with engine.begin() as conn:
        delete_run(conn, "etl", run.run_id, ANN)

    assert rows(engine) == []
    assert not renew(engine, claimed.key)
    assert not tell(engine, worker, claimed.key)
