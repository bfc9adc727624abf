"""Carry out `headway db clean`: portion by portion, each one archived before it is removed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event
from typing import Any, Final

from sqlalchemy import Engine

from headway.actions.change import Author
from headway.actions.retention import removal
from headway.actions.retention.archive import FRESH, Archive, Recovered
from headway.actions.retention.removal import RemovalRequest, RemovalTally
from headway.db.retention import archived, expiry
from headway.decide.scheduling.expire import BEGINNING, RetentionCursor, RetentionPortion, rest
from headway.domain.arguments import JsonValue
from headway.domain.errors import ConflictError
from headway.domain.retention import RetainedKind
from headway.runtime.daemon.clock import Clock, SystemClock

TRIES: Final = 10
"""How often a portion is tried to be removed of which another process holds rows."""


class _HeldElsewhereError(Exception):
    """Another process holds rows of the portion: nothing of it is removed."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What an archiver asks of the database."""

    engine: Engine

    def read(
        self, kind: RetainedKind, table: str, ids: Sequence[int]
    ) -> Sequence[Mapping[str, Any]]:
        with self.engine.connect() as conn:
            return archived.read(conn, kind, table, ids)

    def removed(self, portions: Collection[str]) -> Collection[str]:
        with self.engine.begin() as conn:
            conn.execute(expiry.BE_PATIENT)
            return archived.removed(conn, portions)

    def has_all(self, kind: RetainedKind, rows: Sequence[tuple[int, datetime]]) -> bool:
        with self.engine.connect() as conn:
            return archived.has_all(conn, kind, rows)


@dataclass(slots=True)
class Cleaning:
    """What was asked for, by whom, and where it is archived, if it is."""

    engine: Engine
    author: Author
    archive: Archive | None = None
    clock: Clock = field(default_factory=SystemClock)
    _never: Event = field(default_factory=Event)

    def recover(self) -> Recovered:
        """Finish what another archiver has left half way."""
        if self.archive is None:
            return Recovered()
        return self.archive.recover(_Asked(self.engine), self.clock.now())

    def remove(self, request: RemovalRequest) -> RemovalTally:
        """Remove all that is old of one kind; return what that was."""
        tally, place = RemovalTally(), BEGINNING
        while True:
            began = self.clock.monotonic()
            part, removed = self._portion(request, place)
            tally.add(part, removed)
            if part.next is None:
                return tally
            place = part.next
            contended = removed < len(part.ids)
            self._wait(rest(self.clock.monotonic() - began, contended=contended))

    def _portion(
        self, request: RemovalRequest, place: RetentionCursor
    ) -> tuple[RetentionPortion, int]:
        if self.archive is None:
            with self.engine.begin() as conn:
                part = removal.find(conn, request, place)
                return part, removal.remove(conn, request, part, self.author, {})
        for _ in range(TRIES):
            try:
                return self._archived(request, place, self.archive)
            except _HeldElsewhereError:
                self._wait(rest(0.0, contended=True))
        raise ConflictError(
            f"Another process holds the oldest {request.kind}, and still does after {TRIES} tries. "
            "What was removed so far is archived. Run the command again later."
        )

    def _archived(
        self, request: RemovalRequest, place: RetentionCursor, archive: Archive
    ) -> tuple[RetentionPortion, int]:
        began = self.clock.monotonic()
        with self.engine.begin() as conn:
            part = removal.find(conn, request, place)
        if not part.ids:
            return part, 0
        name = archive.stage(_Asked(self.engine), request.kind, part.ids)
        if self.clock.monotonic() - began > FRESH:
            archive.drop(name)  # another archiver may soon take the portion for left behind
            raise _HeldElsewhereError
        details: Mapping[str, JsonValue] = {"archive": archive.address, "portion": name}
        try:
            with self.engine.begin() as conn:
                removed = removal.remove(conn, request, part, self.author, details)
                if removed < len(part.ids):
                    raise _HeldElsewhereError
        except _HeldElsewhereError:
            archive.drop(name)
            raise
        archive.keep(name)
        return part, removed

    def _wait(self, seconds: float) -> None:
        self.clock.wait(self._never, seconds)
