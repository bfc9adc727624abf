"""Why a server refused a login: its SQLSTATE, which psycopg2 does not tell of a failed connection.

The text of such an error is in the language of the server's `lc_messages`, which a client cannot
choose before it has logged in.  So the login is tried once more, with libpq told to report
nothing but the SQLSTATE.
"""

import ctypes
import re
import select
from typing import Any, Final

import psycopg2
from psycopg2 import _psycopg, extensions

from headway.runtime.daemon.clock import Clock

_SQLSTATE_ONLY: Final = 3
"""PQERRORS_SQLSTATE, since libpq 12."""

_CODE: Final = re.compile(r":\s+([0-9A-Z]{5})\s*$")
_SECONDS: Final = 10.0

_REFUSALS: Final = ("28", "3D000", "42501")
"""Classes of states in which trying again is in vain: authorization, no such database, rights."""


def is_refusal(state: str | None) -> bool:
    """Tell whether a login that ended in this state will be refused again."""
    return state is not None and state.startswith(_REFUSALS)


def sqlstate_of_login(dsn: str, clock: Clock) -> str | None:
    """Log in there once more; return the state in which that fails, None if there is none.

    There is none where the login succeeds, no server answers within 10 s, or the client itself
    refuses, as it does without a password.
    """
    deadline = clock.monotonic() + _SECONDS
    try:
        connection = psycopg2.connect(dsn, async_=1)
    except psycopg2.Error:
        return None
    try:
        _libpq().PQsetErrorVerbosity(connection.pgconn_ptr, _SQLSTATE_ONLY)
        while (wanted := connection.poll()) != extensions.POLL_OK:
            left = max(deadline - clock.monotonic(), 0)
            reading = [connection] if wanted == extensions.POLL_READ else []
            writing = [connection] if wanted == extensions.POLL_WRITE else []
            if not any(select.select(reading, writing, [], left)):
                return None
    except psycopg2.Error as error:
        found = _CODE.search(str(error))
        return found and found[1]
    finally:
        connection.close()
    return None


def _libpq() -> Any:
    """Return the libpq that psycopg2 itself is linked to."""
    library = ctypes.CDLL(_psycopg.__file__)
    library.PQsetErrorVerbosity.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return library
