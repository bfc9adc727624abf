"""Send bodies in gzip to who takes that."""

import gzip
from collections.abc import MutableMapping
from typing import Final

from fastapi import Request

_LEAST: Final = 1_000
"""Bytes from which on a body is worth it."""

_LEVEL: Final = 5


def takes_gzip(request: Request) -> bool:
    """Tell whether the client takes gzip."""
    given = (each.partition(";") for each in request.headers.get("accept-encoding", "").split(","))
    return any(
        name.strip() == "gzip" and rest.replace(" ", "") not in {"q=0", "q=0.0"}
        for name, _, rest in given
    )


def compressed(request: Request, body: bytes, headers: MutableMapping[str, str]) -> bytes:
    """Return the body as it is sent, and add to the headers what tells the client and caches."""
    vary = headers.get("Vary")
    headers["Vary"] = f"{vary}, Accept-Encoding" if vary else "Accept-Encoding"
    if len(body) < _LEAST or not takes_gzip(request):
        return body
    headers["Content-Encoding"] = "gzip"
    return gzip.compress(body, _LEVEL, mtime=0)
