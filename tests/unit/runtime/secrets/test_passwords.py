"""Hashes of passwords: right and wrong ones, parameters, and what no hash costs."""

from typing import Any

import pytest

from headway.runtime.secrets import passwords
from headway.runtime.secrets.passwords import COST, ScryptCost

CHEAP = ScryptCost(4, 8, 1)


def test_only_the_password_of_a_hash_is_right() -> None:
    stored = passwords.hashed("correct horse battery", CHEAP)

    assert passwords.is_right("correct horse battery", stored)
    assert not passwords.is_right("correct horse batterY", stored)
    assert "correct" not in stored


def test_each_hash_has_a_salt_of_its_own() -> None:
    assert passwords.hashed("same", CHEAP) != passwords.hashed("same", CHEAP)


def test_a_hash_has_its_parameters_with_it() -> None:
    assert passwords.hashed("x", CHEAP).startswith("$scrypt$ln=4,r=8,p=1$")
    assert passwords.is_outdated(passwords.hashed("x", CHEAP))
    assert not passwords.is_outdated(passwords.hashed("x"))


def test_letters_are_compared_by_what_they_look_like() -> None:
    assert passwords.is_right("caf\u00e9", passwords.hashed("cafe\u0301", CHEAP))


@pytest.mark.parametrize("stored", [None, "", "plain", "$scrypt$ln=63,r=8,p=1$AAAA$AAAA"])
def test_without_a_hash_the_same_work_is_done(
    stored: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[ScryptCost] = []

    def derive(_password: str, _salt: bytes, cost: ScryptCost) -> Any:
        done.append(cost)
        return b""

    monkeypatch.setattr(passwords, "_derive", derive)

    assert not passwords.is_right("any", stored)
    assert done == [COST]
