"""A request for a run is answered once: two schedulers, killed ones, attempts side by side."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from sqlalchemy import Engine, text

from headway.domain.dag.run_request import RequestAnswer
from headway.domain.states import Outcome
from headway.testing.data import run_requests, seed
from headway.testing.data.run_requests import ask, asking, run_ids, try_again
from headway.testing.database.faults import Crash, crashing, losing_the_answer
from headway.testing.database.interleaving import waiting
from headway_scheduler.passes.answer_requests import answer_requests
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 10 * seed.DAY


def test_two_schedulers_answer_one_request_once(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    key = asking(engine)
    ask(engine, key)
    other, answered = new_replica(), []

    def meanwhile() -> None:
        answered.append(answer_requests(other, NOW))

    assert answer_requests(replica, NOW, before_commit=meanwhile) == 1

    assert answered == [0]
    assert len(run_ids(engine)) == 1


def test_two_schedulers_create_one_run_of_a_name(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    """The second one waits at the name, and finds it taken when the first has committed."""
    key = asking(engine)
    ask(engine, key, run_id="mine")
    ask(engine, key, 2, run_id="mine")
    other = new_replica()

    with waiting(engine, lambda: answer_requests(other, NOW)) as begin:
        assert answer_requests(replica, NOW, before_commit=begin) == 1

    answers = [run_requests.answer(engine, key, number) for number in (1, 2)]
    assert [it and it.answer for it in answers] == [RequestAnswer.CREATED, RequestAnswer.EXISTS]


@pytest.mark.parametrize("number", range(1, 30))
def test_a_scheduler_that_is_killed_leaves_all_or_nothing(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica], number: int
) -> None:
    """Killed before any of its statements, or before the COMMIT; the next one does the rest."""
    key = asking(engine)
    ask(engine, key)
    with crashing(engine, number) as fault, suppress(Crash):
        answer_requests(replica, NOW)
    before = run_requests.answer(engine, key)
    assert len(run_ids(engine)) == (before is not None)
    assert fault.seen > 0

    answer_requests(new_replica(), NOW)

    found = run_requests.answer(engine, key)
    assert found is not None
    assert run_ids(engine) == [found.run_id]


@pytest.mark.parametrize("committed", [True, False])
def test_a_worker_that_asks_again_asks_once(engine: Engine, *, committed: bool) -> None:
    """The connection is lost at the COMMIT: the worker does not know what has become of it."""
    key = asking(engine)
    with losing_the_answer(engine, committed=committed), pytest.raises(Exception, match="closed"):
        ask(engine, key, conf={"a": 1})

    assert ask(engine, key, conf={"a": 1}) is not committed

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM run_request")) == 1


def test_the_next_attempt_waits_for_the_answer_to_the_one_before(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    """A scheduler has begun to answer a lost attempt, and is slow: the run is not created twice."""
    key = asking(engine)
    ask(engine, key)
    other, nexts = new_replica(), []

    with waiting(engine, lambda: answer_requests(other, NOW)) as begin:

        def meanwhile() -> None:
            nexts.append(try_again(engine, key, Outcome.LOST))
            ask(engine, nexts[0])
            begin()

        assert answer_requests(replica, NOW, before_commit=meanwhile) == 1

    [second] = nexts
    assert run_requests.answer(engine, key) == run_requests.answer(engine, second)
    assert len(run_ids(engine)) == 1
