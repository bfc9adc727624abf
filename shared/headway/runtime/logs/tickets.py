"""Tickets: by which a worker lets the API read one log, for five minutes.

The API and workers have the same keys of connections and variables.  Each of these keys gives
another key, which signs tickets and nothing else.  So a ticket needs no place in the database, and
whoever sees one can read one log for a while.
"""

import hmac
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from headway.runtime.secrets.keyring import Key, KeyRing

LIFETIME: Final = 300
"""Seconds for which a ticket is good."""

SKEW: Final = 60
"""Seconds by which the clocks of the API and of a worker may differ."""

_PURPOSE: Final = b"headway: tickets of logs"


def make(ring: KeyRing, relative: Path, now: datetime) -> str:
    """Return a ticket for the log at that path below the folder of logs."""
    until = round(now.timestamp()) + LIFETIME
    key = ring.keys[0]
    return f"{key.key_id}:{until}:{_signature(key, relative, until)}"


def is_good(ring: KeyRing, relative: Path, ticket: str, now: datetime) -> bool:
    """Tell whether a ticket is for that log, and its time is not over."""
    key_id, _, rest = ticket.partition(":")
    until, _, signature = rest.partition(":")
    key = next((each for each in ring.keys if each.key_id == key_id), None)
    if key is None or not (until.isascii() and until.isdigit() and len(until) < LIFETIME):
        return False
    moment = round(now.timestamp())
    if not moment - SKEW <= int(until) <= moment + LIFETIME + SKEW:
        return False
    return hmac.compare_digest(_signature(key, relative, int(until)).encode(), signature.encode())


def _signature(key: Key, relative: Path, until: int) -> str:
    own = hmac.digest(key.secret, _PURPOSE, sha256)
    return hmac.digest(own, f"{until}:{relative.as_posix()}".encode(), sha256).hex()
