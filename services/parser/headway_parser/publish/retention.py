"""The chore that deletes versions, and what they were made of, when they are of no use any more."""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from headway.db.core import processes
from headway.db.core.processes import Identity
from headway.db.parsing import retention
from headway.runtime.daemon.clock import Clock
from headway.runtime.settings.parser import ParserSettings

log = logging.getLogger(__name__)

DAY: Final = 86400.0
UNUSED: Final = 3600.0
"""Seconds for which nobody has stored a content before it may go."""

BATCH: Final = 100
"""Rows of one kind that one transaction deletes."""

FIRST: Final = 60.0
"""Seconds after the start when it is done first: there is much else to do before."""

Step: TypeAlias = Callable[[Connection], int]


def prune(
    engine: Engine, me: Identity, retention_days: float, versions_to_keep: int, batch: int = BATCH
) -> bool:
    """Delete a batch of each kind, each in its own transaction; return whether there may be more.

    Any number of parsers may do so at once, beside others that store.
    """
    steps: dict[str, Step] = {
        "versions": lambda conn: retention.prune_versions(
            conn, retention_days * DAY, versions_to_keep, batch
        ),
        "manifests": lambda conn: retention.prune_manifests(conn, UNUSED, batch),
        "files": lambda conn: retention.prune_files(conn, UNUSED, batch),
        "definitions": lambda conn: retention.prune_definitions(conn, UNUSED, batch),
    }
    pruned = {name: _once(engine, me, step) for name, step in steps.items()}
    if any(pruned.values()):
        told = " ".join(f"{name}={count}" for name, count in pruned.items())
        log.info("action=prune %s", told)
    return batch in pruned.values()


def _once(engine: Engine, me: Identity, step: Step) -> int:
    with engine.begin() as conn:
        processes.confirm(conn, me)
        return step(conn)


@dataclass(slots=True)
class VersionRetention:
    """Prune from time to time, in a thread of its own: it may take long."""

    engine: Engine
    me: Identity
    settings: ParserSettings
    clock: Clock
    _next: float = field(init=False)
    _under_way: Future[bool] | None = None
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "retention"))

    def __post_init__(self) -> None:
        self._next = self.clock.monotonic() + FIRST

    def step(self) -> None:
        """Begin if it is time to, and see what became of the last time."""
        given, now = self.settings, self.clock.monotonic()
        if self._under_way is not None and self._under_way.done():
            future, self._under_way = self._under_way, None
            self._next = now + (0 if self._went_on(future) else given.retention_interval)
        if self._under_way is None and now >= self._next:
            arguments = given.version_retention_days, given.versions_to_keep
            self._under_way = self._thread.submit(prune, self.engine, self.me, *arguments)

    def close(self) -> None:
        """Wait for what is under way."""
        self._thread.shutdown(wait=True)

    def _went_on(self, future: Future[bool]) -> bool:
        """Return whether there is more to prune; what fails in the database is left for later."""
        try:
            return future.result()
        except DBAPIError as error:
            log.warning("action=prune reason=%r", str(error.orig).strip())
            return False
