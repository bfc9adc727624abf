"""Which of what there is a DAG file gets, and what tells that it would get something else."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headway.db.parsing import bundle_secrets
from headway.db.parsing.bundle_secrets import BundleSecret, SecretName
from headway.domain.errors import FencedError, SecretError
from headway.domain.variable import SecretKind, StoredVariable, to_text
from headway.runtime.secrets.keyring import KeyRing, new_key
from headway.runtime.settings.secret_keys import Provided
from headway_parser.secrets.dependency import dependency_of, secret_of
from headway_parser.secrets.resolver import BundleSecretResolver, FoundSecret

KEYS = KeyRing((new_key(),))
STORED = KEYS.seal("variable", "v", to_text(StoredVariable(key="v", value="stored")))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
V = SecretName(SecretKind.VARIABLE, "v")
THERE = BundleSecret(granted=True, present=True, changed_at=NOW, sealed=STORED)
ABSENT = BundleSecret(granted=True, present=False, changed_at=None, sealed=None)
REFUSED = BundleSecret(granted=False, present=True, changed_at=NOW, sealed=None)
HERE = {"HEADWAY_VAR_V": "here"}

Answer = Callable[[BundleSecret | None], None]


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

    def have(its: BundleSecret | None) -> None:
        monkeypatch.setattr(
            bundle_secrets, "ask", lambda *_, whole: {} if its is None else {V: its}
        )

    return have


def resolver(
    environment: Mapping[str, str] = {}, folder: Path | None = None
) -> BundleSecretResolver:
    engine: Any = NoDatabase()
    return BundleSecretResolver(engine, Provided(environment, folder), lambda: KEYS)


def read(environment: Mapping[str, str] = {}) -> FoundSecret:
    return resolver(environment).read("dags", V)


def test_granted_the_environment_comes_before_the_database(answer: Answer) -> None:
    answer(THERE)

    assert read(HERE).secret == StoredVariable(key="v", value="here")
    assert read().secret == StoredVariable(key="v", value="stored")


def test_granted_there_may_be_nothing_of_that_name(answer: Answer) -> None:
    answer(ABSENT)

    assert (read().secret, read().refusal) == (None, None)


@pytest.mark.parametrize(
    ("its", "environment"), [(REFUSED, {}), (replace(ABSENT, granted=False), HERE)]
)
def test_without_a_grant_what_is_there_is_refused(
    answer: Answer, its: BundleSecret, environment: Mapping[str, str]
) -> None:
    answer(its)

    found = read(environment)

    assert found.secret is None
    assert "`headway variables grant v --bundle dags` lets it" in (found.refusal or "")


def test_without_a_grant_what_is_not_there_is_not_refused(answer: Answer) -> None:
    answer(replace(ABSENT, granted=False))

    assert (read().secret, read().refusal) == (None, None)


def test_what_cannot_be_decrypted_is_refused(answer: Answer) -> None:
    answer(THERE)

    def none() -> KeyRing:
        raise SecretError("There is no key.")

    found = replace(resolver(), keys=none).read("dags", V)

    assert (found.secret, found.refusal) == (None, "There is no key.")


def test_a_parser_without_the_bundle_is_fenced(answer: Answer) -> None:
    answer(None)

    with pytest.raises(FencedError):
        read()


def test_a_state_is_another_one_when_a_file_would_get_something_else(
    answer: Answer, tmp_path: Path
) -> None:
    its = resolver()
    (tmp_path / "variables").mkdir()
    states = set()

    def look(stored: BundleSecret, by: BundleSecretResolver = its) -> None:
        answer(stored)
        state = by.states("dags", [V])[V]
        assert by.read("dags", V).state == state
        states.add(state)

    changes = [THERE, replace(THERE, changed_at=NOW + timedelta(microseconds=1)), ABSENT, REFUSED]
    for each in [*changes, replace(ABSENT, granted=False)]:
        look(each)
    mounted = resolver(folder=tmp_path)
    for value in ("one", "two"):
        (tmp_path / "variables" / "v").write_text(value)
        look(THERE, mounted)
    (tmp_path / "variables" / "v").write_bytes(b"\xff")
    look(THERE, mounted)

    assert len(states) == len(changes) + 1 + 3
    look(THERE)
    assert len(states) == len(changes) + 1 + 3


def test_a_state_tells_nothing_of_a_value_that_was_provided(answer: Answer) -> None:
    answer(THERE)

    assert resolver(HERE).read("dags", V).state != resolver(HERE).read("dags", V).state
    assert "here" not in repr(resolver(HERE).read("dags", V))


def test_a_name_is_told_from_the_path_of_a_file() -> None:
    assert secret_of(dependency_of(V)) == V
    assert secret_of("variable/v") is None
