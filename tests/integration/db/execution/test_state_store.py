"""State stores: written by the attempt that runs, read by all attempts of the task instance."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import Connection, Engine, text

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import state_store
from headway.db.recovery import expired_state
from headway.db.scheduling import tasks
from headway.domain.arguments import JsonValue
from headway.domain.dag.retry import Next
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway.testing.data.state_store import kept, make_expire, put

AT_ONCE = Next(TaskState.UP_FOR_RETRY, timedelta(0))


@pytest.fixture
def key(engine: Engine) -> AttemptKey:
    """The one attempt that runs."""
    [key] = seed.running(engine, seed.dag())
    return key


def get(engine: Engine, name: str = "job", task_id: str = "work", index: int = -1) -> object:
    with engine.connect() as conn:
        run = int(conn.execute(text("SELECT id FROM dag_run")).scalar_one())
        return state_store.get(conn, run, (task_id, index), name)


def try_again(engine: Engine, key: AttemptKey, outcome: Outcome) -> AttemptKey:
    """End the attempt; return the next one, claimed."""
    seed.report(engine, [key], outcome, AT_ONCE)
    with engine.begin() as conn:
        later = seed.START + 100_000 * seed.DAY
        assert tasks.schedule_retries(conn, later, 10, seed.AGING) == 1
        tasks.queue(conn, [key.task_instance_id], seed.START, seed.SCHEDULER)
    [claimed] = seed.claim(engine, seed.register(engine, "worker"))
    return claimed.key


def delete(engine: Engine, key: AttemptKey, name: str | None) -> bool:
    with engine.begin() as conn:
        return state_store.delete(conn, key, name)


@pytest.mark.parametrize("value", [False, 42, "text", [1, [2]], {"key": {"nested": None}}, 0.5])
def test_a_value_comes_back_as_it_was(engine: Engine, key: AttemptKey, value: JsonValue) -> None:
    assert put(engine, key, "job", "before")
    assert put(engine, key, "job", value)

    assert get(engine) == (value,)
    assert get(engine, "other") is None
    assert get(engine, task_id="other") is None
    assert get(engine, index=0) is None


@pytest.mark.parametrize(
    "outcome", [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST, Outcome.CANCELLED]
)
def test_the_next_attempt_goes_on_with_it(
    engine: Engine, key: AttemptKey, outcome: Outcome
) -> None:
    put(engine, key, "job", "first")

    second = try_again(engine, key, outcome)

    assert second.attempt == 2
    assert get(engine) == ("first",)
    assert put(engine, second, "job", "second")
    assert not put(engine, key, "job", "late")
    assert not delete(engine, key, "job")
    assert not delete(engine, key, None)
    assert get(engine) == ("second",)


def test_only_the_holder_of_the_token_writes(engine: Engine, key: AttemptKey) -> None:
    put(engine, key, "job", 1)
    stranger = replace(key, token=uuid4())

    assert not put(engine, stranger, "job", 2)
    assert not delete(engine, stranger, "job")
    assert get(engine) == (1,)


def test_nobody_ends_the_attempt_between_the_look_and_the_write(
    engine: Engine, key: AttemptKey
) -> None:
    def remove(conn: Connection) -> bool:
        return state_store.delete(conn, key, "job")

    def write(conn: Connection) -> bool:
        return state_store.put(conn, key, "job", 1, None)

    free = text("SELECT attempt FROM task_attempt FOR NO KEY UPDATE SKIP LOCKED")
    for change in (write, remove):
        with engine.begin() as writing:
            assert change(writing)
            with engine.begin() as other:
                assert other.scalar(free) is None
        with engine.begin() as other:
            assert other.scalar(free) == 1


def test_a_key_is_removed_or_all_are(engine: Engine, key: AttemptKey) -> None:
    for name in ("a", "b", "c"):
        put(engine, key, name, 1)

    assert delete(engine, key, "b")
    assert delete(engine, key, "not there")
    assert [name for name, *_ in kept(engine)] == ["a", "c"]

    assert delete(engine, key, None)
    assert kept(engine) == []


def test_instances_of_a_mapped_task_have_stores_of_their_own(engine: Engine) -> None:
    worker = seed.register(engine, "worker")
    first, second = (claimed.key for claimed in seed.run_mapped(engine, worker, 2))
    put(engine, first, "job", "a")
    put(engine, second, "job", "b")

    assert get(engine, task_id="m", index=0) == ("a",)
    assert get(engine, task_id="m", index=1) == ("b",)

    delete(engine, first, None)

    assert get(engine, task_id="m", index=0) is None
    assert get(engine, task_id="m", index=1) == ("b",)


def test_it_goes_with_the_run(engine: Engine, key: AttemptKey) -> None:
    put(engine, key, "job", 1)
    seed.report(engine, [key])

    with engine.begin() as conn:
        conn.execute(text("DELETE FROM dag_run"))

    assert kept(engine) == []


def test_what_has_expired_is_not_there_and_is_removed(engine: Engine, key: AttemptKey) -> None:
    day = timedelta(days=1)
    for name, retention in (("old", day), ("young", 2 * day), ("ever", None)):
        put(engine, key, name, 1, retention)
    make_expire(engine, "old")

    assert [get(engine, name) for name in ("old", "young", "ever")] == [None, (1,), (1,)]
    with engine.begin() as conn:
        assert expired_state.delete(conn) == 1
    assert [name for name, *_ in kept(engine)] == ["ever", "young"]


def test_what_has_expired_can_be_set_again(engine: Engine, key: AttemptKey) -> None:
    put(engine, key, "job", 1, timedelta(days=1))
    make_expire(engine, "job")

    put(engine, key, "job", 2, timedelta(days=1))

    assert get(engine) == (2,)
    with engine.begin() as conn:
        assert expired_state.delete(conn) == 0


def test_the_retention_counts_from_the_last_write(engine: Engine, key: AttemptKey) -> None:
    put(engine, key, "job", 1, timedelta(days=3))
    [(_, _, lasts)] = kept(engine)
    assert lasts == timedelta(days=3)

    put(engine, key, "job", 1, None)
    [(_, _, lasts)] = kept(engine)
    assert lasts is None


def test_schedulers_remove_what_has_expired_at_the_same_time(
    engine: Engine, key: AttemptKey
) -> None:
    for name in ("a", "b"):
        put(engine, key, name, 1, timedelta(days=1))
        make_expire(engine, name)

    with engine.begin() as first, engine.begin() as second:
        assert expired_state.delete(first) == 2
        assert expired_state.delete(second) == 0
