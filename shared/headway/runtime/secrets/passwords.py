"""Passwords of accounts: stored as hashes by scrypt, with the parameters of each hash."""

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize

_SALT_BYTES: Final = 16
_HASH_BYTES: Final = 32
_MOST_COST: Final = 20
_FORM: Final = re.compile(r"\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class ScryptCost:
    """What one hash costs: 2**`log_n` blocks of 128 * `r` bytes, `p` times."""

    log_n: int
    r: int
    p: int


COST: Final = ScryptCost(14, 8, 5)
"""16 MiB for a hash: of the costs that OWASP takes for equal, one that needs little memory."""

_DUMMY_SALT: Final = bytes(_SALT_BYTES)


def hashed(password: str, cost: ScryptCost | None = None) -> str:
    """Return the hash of a password as it is stored; without a cost at the one of new hashes."""
    cost = cost or COST
    salt = secrets.token_bytes(_SALT_BYTES)
    digest = _derive(password, salt, cost)
    return f"$scrypt$ln={cost.log_n},r={cost.r},p={cost.p}${_encode(salt)}${_encode(digest)}"


def is_right(password: str, stored: str | None) -> bool:
    """Tell whether this is the password of that hash.

    Without a hash it is not, and to say so takes as long: the time does not tell whether an
    account exists.
    """
    found = None if stored is None else _parse(stored)
    if found is None:
        _derive(password, _DUMMY_SALT, COST)
        return False
    cost, salt, digest = found
    return hmac.compare_digest(_derive(password, salt, cost), digest)


def is_outdated(stored: str) -> bool:
    """Tell whether a hash was made at another cost than new ones are."""
    found = _parse(stored)
    return found is None or found[0] != COST


def _parse(stored: str) -> tuple[ScryptCost, bytes, bytes] | None:
    match = _FORM.fullmatch(stored)
    if match is None:
        return None
    cost = ScryptCost(int(match[1]), int(match[2]), int(match[3]))
    if not (0 < cost.log_n <= _MOST_COST and 0 < cost.r <= _MOST_COST and 0 < cost.p <= _MOST_COST):
        return None
    try:
        return cost, _decode(match[4]), _decode(match[5])
    except binascii.Error:
        return None


def _derive(password: str, salt: bytes, cost: ScryptCost) -> bytes:
    n = 1 << cost.log_n
    return hashlib.scrypt(
        normalize("NFKC", password).encode("utf-8", "surrogatepass"),
        salt=salt,
        n=n,
        r=cost.r,
        p=cost.p,
        maxmem=128 * cost.r * (n + cost.p + 2) + (1 << 20),
        dklen=_HASH_BYTES,
    )


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4))
