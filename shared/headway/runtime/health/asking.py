"""Ask a service of this machine for its health, as `headway health` does."""

import json
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from typing import Final

from headway.runtime.health.check import HealthCheck, from_data

PATIENCE: Final = 5.0
"""Seconds that an answer may take; a service gives one within three."""


def ask(port: int, path: str) -> list[HealthCheck]:
    """Return the checks that the service at that port of this machine answers with.

    Where no service answers, that is the one check that is returned.
    """
    try:
        with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
            connection.request("GET", path)
            return from_data(json.loads(connection.getresponse().read()))
    except (OSError, HTTPException, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return [HealthCheck("endpoint", False, f"no answer at port {port}: {why}")]
