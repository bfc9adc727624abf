"""What clients want of the API, and a file of all that they have sent, and of the answers."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Any, Final

ASKED: Final = "asked"
"""The DAG, and the pool, that clients change."""


class WishKind(StrEnum):
    """What is wanted; those in the first lines change something."""

    TRIGGER, MARK, CLEAR = "run.trigger", "run.mark", "run.clear"
    PAUSE, UNPAUSE, POOL = "dag.pause", "dag.unpause", "pool.set"
    REHEARSE, READ, WATCH = "rehearse", "read", "watch"


CHANGES: Final = frozenset(WishKind) - {WishKind.REHEARSE, WishKind.READ, WishKind.WATCH}
"""The kinds that the journal tells of, under the names that they have there."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client wants, however often it sends that."""

    kind: WishKind
    key: str
    """Under which it is sent again; of all wishes each has another one."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    mark: str = ""
    """By what the journal tells this change from others of its kind."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to one api, and its answer; times in seconds of a monotonic clock."""

    kind: WishKind
    key: str
    mark: str
    api: str
    path: str
    began: float
    ended: float
    status: int | None
    """None if no answer has come."""

    said: str = ""
    """The id of the run that the answer names, or what has gone wrong."""

    @property
    def is_done(self) -> bool:
        """Whether the answer says that all went well."""
        return self.status is not None and self.status < 300

    @property
    def is_open(self) -> bool:
        """Whether nobody knows what became of it: it is to be sent again."""
        return self.status in (None, 503)


class ExchangeFile:
    """Writes a line for each exchange, from many threads."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        path.touch()

    def write(self, exchange: Exchange) -> None:
        """Append one."""
        with self._lock, self._path.open("a") as file:
            file.write(json.dumps(asdict(exchange)) + "\n")


def read_exchanges(lines: Iterable[str]) -> list[Exchange]:
    """Return the exchanges of these lines."""
    found = map(json.loads, lines)
    return [Exchange(**{**it, "kind": WishKind(it["kind"])}) for it in found]
