"""XComs: written by the attempt that runs, read from the last attempt."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text

from headway.db import tasks, xcoms
from headway.db.attempts import AttemptKey
from headway.domain.arguments import JsonValue
from headway.domain.retry import Next
from headway.domain.states import Outcome, TaskState
from headway.testing import seed

AT_ONCE = Next(TaskState.UP_FOR_RETRY, timedelta(0))


@pytest.fixture
def key(engine: Engine) -> AttemptKey:
    """The one attempt that runs."""
    [key] = seed.running(engine, seed.dag())
    return key


def push(engine: Engine, key: AttemptKey, value: JsonValue, name: str = "answer") -> bool:
    with engine.begin() as conn:
        return xcoms.push(conn, key, name, value)


def pull(engine: Engine, name: str = "answer", task_id: str = "work") -> tuple[JsonValue] | None:
    with engine.connect() as conn:
        run_id = conn.execute(text("SELECT id FROM dag_run")).scalar_one()
        return xcoms.pull(conn, run_id, task_id, name)


def try_again(engine: Engine, keys: Sequence[AttemptKey]) -> AttemptKey:
    """Fail the attempts; return the next one, claimed."""
    seed.report(engine, keys, Outcome.FAILED, AT_ONCE)
    with engine.begin() as conn:
        later = seed.START + 100_000 * seed.DAY
        assert tasks.schedule_retries(conn, later, 10) == 1
        tasks.queue(conn, [keys[0].task_instance_id], seed.START)
    [claimed] = seed.claim(engine, seed.register(engine, "worker"))
    return claimed.key


@pytest.mark.parametrize("value", [None, 42, "text", [1, [2]], {"key": {"nested": True}}, 0.5])
def test_a_value_comes_back_as_it_was(engine: Engine, key: AttemptKey, value: JsonValue) -> None:
    assert push(engine, key, value)

    assert pull(engine) == (value,)


def test_the_last_value_under_a_name_counts(engine: Engine, key: AttemptKey) -> None:
    push(engine, key, "first")
    push(engine, key, "other", name="else")
    push(engine, key, "second")

    assert pull(engine) == ("second",)
    assert pull(engine, "nothing") is None
    assert pull(engine, task_id="nobody") is None


def test_only_the_holder_of_the_token_writes(engine: Engine, key: AttemptKey) -> None:
    assert not push(engine, replace(key, token=uuid4()), "strange")

    assert pull(engine) is None


def test_an_attempt_that_has_ended_writes_no_more(engine: Engine, key: AttemptKey) -> None:
    push(engine, key, "in time")
    seed.report(engine, [key])

    assert not push(engine, key, "late")
    assert pull(engine) == ("in time",)


def test_readers_see_the_last_attempt_alone(engine: Engine, key: AttemptKey) -> None:
    push(engine, key, "first")
    push(engine, key, "first", name="only then")

    second = try_again(engine, [key])

    assert second.attempt == 2
    assert pull(engine) is None
    assert not push(engine, key, "late")
    push(engine, second, "second")
    assert pull(engine) == ("second",)
    assert pull(engine, "only then") is None
