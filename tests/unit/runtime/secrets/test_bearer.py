"""Secrets of tokens, sessions and links: their form, and what is stored of them."""

from hashlib import sha256

import pytest

from headway.runtime.secrets import bearer
from headway.runtime.secrets.bearer import BearerKind


@pytest.mark.parametrize("kind", BearerKind)
def test_a_secret_has_32_random_bytes_behind_its_prefix(kind: BearerKind) -> None:
    made = bearer.make(kind)

    assert made.text.startswith(kind)
    assert len(made.text) == len(kind) + 43
    assert made.text != bearer.make(kind).text


def test_only_its_hash_is_stored() -> None:
    made = bearer.make(BearerKind.TOKEN)

    assert made.hash == bearer.hash_of(made.text) == sha256(made.text.encode()).digest()
    assert made.text not in repr(made)
