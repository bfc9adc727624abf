"""Who may ask for a run, and for whom the answer is."""

from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from headway.db.execution import run_requests
from headway.domain.states import TaskState
from headway.testing.data import seed
from headway.testing.data.run_requests import answer, ask, asking


def test_a_request_is_made_once_and_has_no_answer_yet(engine: Engine) -> None:
    key = asking(engine)

    assert ask(engine, key)
    assert not ask(engine, key, conf={"other": 1})
    assert answer(engine, key) is None


def test_who_has_not_the_token_neither_asks_nor_hears(engine: Engine) -> None:
    key = asking(engine)
    stranger = replace(key, token=uuid4())

    assert not ask(engine, stranger)

    assert ask(engine, key)
    with engine.connect() as conn:
        assert run_requests.answer(conn, stranger, 1) is None


@pytest.mark.parametrize("ends", ["stopping", "ended"])
def test_an_attempt_that_is_to_end_asks_for_nothing(engine: Engine, ends: str) -> None:
    key = asking(engine)
    if ends == "stopping":
        seed.tell_to_stop(engine, [key], TaskState.FAILED)
    else:
        seed.report(engine, [key])

    assert not ask(engine, key)
