"""Secrets by which a request shows whose it is: tokens, sessions and sign-in links.

Whoever has one may act as its account.  Only its SHA-256 is stored: a secret of 32 random bytes
cannot be guessed from its hash, however quickly that is computed.
"""

import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Final

SECRET_BYTES: Final = 32


class BearerKind(StrEnum):
    """The kinds of secrets, by what each begins with: a scanner of leaks can find them."""

    TOKEN = "hw_"  # noqa: S105 - a prefix, not a password
    SESSION = "hws_"
    LINK = "hwl_"


@dataclass(frozen=True, slots=True)
class BearerSecret:
    """A new secret, shown once, and the hash of it that is stored."""

    text: str = field(repr=False)
    hash: bytes = field(repr=False)


def make(kind: BearerKind) -> BearerSecret:
    """Make a new secret."""
    text = kind + secrets.token_urlsafe(SECRET_BYTES)
    return BearerSecret(text, hash_of(text))


def hash_of(text: str) -> bytes:
    """Return what is stored of a secret."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
