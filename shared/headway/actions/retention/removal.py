"""Remove what is old: find out what that would be, and remove it portion by portion."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from headway.actions.change import Author
from headway.db.retention import expiry
from headway.decide.scheduling.expire import BEGINNING, RetentionCursor, RetentionPortion, portion
from headway.domain.arguments import JsonValue
from headway.domain.errors import SettingsError
from headway.domain.retention import LEAST, KeepReason, RetainedKind

LOOKED_AT: Final = 500
"""Rows that one look reads of a kind."""

MOST: Final = 5000
"""Rows that one transaction removes, task instances counted, or one run if that has more."""


@dataclass(frozen=True, slots=True)
class RemovalRequest:
    """What is to go: rows of that kind that ended more than so many seconds ago, of one DAG."""

    kind: RetainedKind
    seconds: float
    dag_id: str | None = None


@dataclass(slots=True)
class RemovalTally:
    """What was removed, or would be, and how many old rows stay for which reason."""

    rows: int = 0
    task_instances: int = 0
    kept: Counter[KeepReason] = field(default_factory=Counter)
    since: datetime | None = None
    until: datetime | None = None

    def add(self, part: RetentionPortion, removed: int) -> None:
        """Count one portion, of which so many rows were removed."""
        self.rows += removed
        self.task_instances += part.size
        self.kept.update(part.kept)
        self.since = min(filter(None, (self.since, part.since)), default=None)
        self.until = max(filter(None, (self.until, part.until)), default=None)


def check(request: RemovalRequest) -> None:
    """Raise SettingsError for what can never be removed, or by no DAG."""
    if request.seconds < LEAST:
        raise SettingsError(
            "Nothing is removed that ended less than a day ago. Give an age of 1d or more."
        )
    if request.kind is RetainedKind.PROCESSES and request.dag_id is not None:
        raise SettingsError(
            "Processes are of no DAG. Leave --dag away, or name the kinds: "
            "--kind runs --kind events --kind callbacks."
        )


def look(conn: Connection, request: RemovalRequest) -> RemovalTally:
    """Return what would be removed."""
    tally, place = RemovalTally(), BEGINNING
    while True:
        part = find(conn, request, place)
        tally.add(part, len(part.ids))
        if part.next is None:
            return tally
        place = part.next


def find(conn: Connection, request: RemovalRequest, place: RetentionCursor) -> RetentionPortion:
    """Return the next portion of what is to go."""
    found = expiry.candidates(conn, request.kind, request.seconds, place, LOOKED_AT, request.dag_id)
    return portion(found, LOOKED_AT, MOST)


def remove(
    conn: Connection,
    request: RemovalRequest,
    part: RetentionPortion,
    author: Author,
    details: Mapping[str, JsonValue],
) -> int:
    """Remove a portion and enter the event of it; return how many rows were still there."""
    said: dict[str, JsonValue] = {"older_than_seconds": request.seconds, **details}
    if request.dag_id is not None:
        said["dag_id"] = request.dag_id
    if author.reason is not None:
        said["reason"] = author.reason
    return expiry.remove(conn, request.kind, author.actor, part.ids, said) if part.ids else 0
