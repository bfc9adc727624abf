"""Which of what there is an attempt gets: granted first, then by the order of the places."""

from collections.abc import Callable
from typing import Any

import pytest

from headway.db.execution import secret_requests
from headway.db.execution.secret_requests import Delivered
from headway.domain.errors import ConflictError, SecretError
from headway.domain.variable import SecretKind, StoredVariable, to_text
from headway.runtime.secrets.keyring import KeyRing, new_key
from headway.runtime.settings.secret_keys import Provided
from headway_worker.database.secret_resolver import SecretResolver

KEYS = KeyRing((new_key(),))
STORED = KEYS.seal("variable", "v", to_text(StoredVariable(key="v", value="stored")))
CLAIMED: Any = type("Claimed", (), {"key": None, "dag_id": "etl"})()

Answer = Callable[[Delivered | None], None]


class NoDatabase:
    """An engine whose connections are never made."""

    def begin(self) -> "NoDatabase":
        return self

    def __enter__(self) -> "NoDatabase":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Have the database answer so."""

    def have(delivered: Delivered | None) -> None:
        monkeypatch.setattr(secret_requests, "ask", lambda *_: delivered)

    return have


def read(environment: dict[str, str]) -> object:
    engine: Any = NoDatabase()
    resolver = SecretResolver(engine, Provided(environment, None), lambda: KEYS)
    return resolver.read(CLAIMED, SecretKind.VARIABLE, "v")


HERE = {"HEADWAY_VAR_V": "here"}


def test_granted_the_environment_comes_before_the_database(answer: Answer) -> None:
    answer(Delivered(granted=True, present=True, sealed=STORED))

    assert read(HERE) == StoredVariable(key="v", value="here")
    assert read({}) == StoredVariable(key="v", value="stored")


def test_granted_there_may_be_nothing_of_that_name(answer: Answer) -> None:
    answer(Delivered(granted=True, present=False, sealed=None))

    assert read({}) is None
    assert read(HERE) == StoredVariable(key="v", value="here")


@pytest.mark.parametrize("environment", [{}, HERE])
@pytest.mark.parametrize("present", [True, False])
def test_without_a_grant_nothing_is_read_wherever_it_is(
    answer: Answer, environment: dict[str, str], present: bool
) -> None:
    answer(Delivered(granted=False, present=present, sealed=None))

    if not environment and not present:
        assert read(environment) is None
        return
    with pytest.raises(SecretError, match="`headway variables grant v etl` lets it"):
        read(environment)


def test_an_attempt_that_was_given_away_gets_nothing(answer: Answer) -> None:
    answer(None)

    with pytest.raises(ConflictError, match="was given away"):
        read(HERE)
