"""Have the API read logs of this worker, by ranges of bytes, if it shows a ticket."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote

from headway.domain.errors import HeadwayError
from headway.runtime.daemon.clock import Clock
from headway.runtime.health.page import Page
from headway.runtime.logs import tickets
from headway.runtime.logs.reading import LocalLogs
from headway.runtime.secrets.keyring import KeyRing

PREFIX: Final = "/logs/"

MOST: Final = 2**20
"""Bytes of one answer."""

_RANGE: Final = re.compile(r"bytes=(\d{1,18})-(\d{1,18})")
_TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class LogPages:
    """The pages below /logs/ of a worker's HTTP port."""

    logs: LocalLogs
    keys: Callable[[], KeyRing]
    clock: Clock

    def __call__(self, path: str, headers: Mapping[str, str]) -> Page | None:
        """Return a range of a log; None for a path that is no log's."""
        if not path.startswith(PREFIX):
            return None
        relative = PurePosixPath(unquote(path.removeprefix(PREFIX)))
        if relative.is_absolute() or ".." in relative.parts or not relative.parts:
            return _refusal(HTTPStatus.NOT_FOUND)
        scheme, _, ticket = headers.get("authorization", "").partition(" ")
        try:
            if scheme.lower() != "bearer" or not self._is_good(Path(relative), ticket.strip()):
                return _refusal(HTTPStatus.FORBIDDEN)
            return self._range(Path(relative), headers.get("range", ""))
        except HeadwayError:
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE)

    def _is_good(self, relative: Path, ticket: str) -> bool:
        return tickets.is_good(self.keys(), relative, ticket, self.clock.now())

    def _range(self, relative: Path, asked: str) -> Page:
        wanted = _RANGE.fullmatch(asked)
        if wanted is None:
            return _refusal(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE)
        size = self.logs.size(relative)
        if size is None:
            return _refusal(HTTPStatus.NOT_FOUND)
        start, last = int(wanted[1]), int(wanted[2])
        body = self.logs.read(relative, start, max(start, min(last + 1, start + MOST)))
        place = f"{start}-{start + len(body) - 1}" if body else "*"
        headers = {"Content-Range": f"bytes {place}/{size}"}
        return Page(HTTPStatus.PARTIAL_CONTENT, _TEXT, body, headers)


def _refusal(status: HTTPStatus) -> Page:
    return Page(status, _TEXT, f"{status.phrase}\n".encode())
