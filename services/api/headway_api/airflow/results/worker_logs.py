"""Logs on the machine of a worker, which serves them to who shows a ticket."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final
from urllib.parse import quote

from headway.domain.errors import LogsError

TIMEOUT: Final = 5.0
"""Seconds in which a worker must answer."""

_PIECE: Final = 2**20
"""Bytes of the largest answer of a worker."""

_SIZE: Final = re.compile(r"bytes (?:\*|\d+-\d+)/(\d+)")


@dataclass(frozen=True, slots=True)
class WorkerLogs:
    """The logs of the worker at that host:port; `ticket` makes one for the path of a log."""

    address: str
    ticket: Callable[[Path], str]

    def size(self, relative: Path) -> int | None:
        """Return the bytes of a log; None when it is not there."""
        found = self._ask(relative, 0, 0)
        return None if found is None else found[0]

    def read(self, relative: Path, start: int, end: int) -> bytes:
        """Return the bytes of a log from `start` to before `end`, fewer where it ends or is not."""
        data = b""
        while start + len(data) < end:
            found = self._ask(relative, start + len(data), min(end, start + len(data) + _PIECE) - 1)
            if found is None or not found[1]:
                break
            data += found[1]
        return data

    def _ask(self, relative: Path, first: int, last: int) -> tuple[int, bytes] | None:
        """Return the size of a log, and its bytes from the first to the last; None without it."""
        host, _, port = self.address.rpartition(":")
        asking = HTTPConnection(host.strip("[]"), int(port), timeout=TIMEOUT)
        headers = {
            "Authorization": f"Bearer {self.ticket(relative)}",
            "Range": f"bytes={first}-{last}",
        }
        try:
            asking.request("GET", f"/logs/{quote(relative.as_posix())}", headers=headers)
            answer = asking.getresponse()
            body = answer.read(_PIECE)
            size = _SIZE.fullmatch(answer.headers.get("Content-Range", ""))
        except (OSError, HTTPException) as error:
            raise LogsError(f"The worker at {self.address} does not answer: {error}") from error
        finally:
            asking.close()
        if answer.status == HTTPStatus.NOT_FOUND:
            return None
        if answer.status != HTTPStatus.PARTIAL_CONTENT or size is None:
            raise LogsError(
                f"The worker at {self.address} has the log and does not give it: "
                f"{answer.status} {answer.reason}. The API and workers need the same keys of "
                "secrets (HEADWAY_SECRETS_KEYS)."
            )
        return int(size[1]), body
