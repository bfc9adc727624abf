"""Which old rows go in one portion, and when the next portion is due."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from headway.domain.retention import KeepReason, RetainedKind

REST: Final = 3.0
"""How many times as long as the last portion took the next one waits."""

SHORTEST_REST: Final = 0.05
"""Seconds."""

CONTENDED_REST: Final = 5.0
"""Seconds before the next portion if another process removes the same rows."""


@dataclass(frozen=True, slots=True)
class RetentionCursor:
    """How far a kind has been looked through: everything up to here."""

    at: datetime | None = None
    id: int = 0


BEGINNING: Final = RetentionCursor()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that may go: when it ended, how many rows it stands for, and what it is needed for."""

    id: int
    at: datetime
    size: int
    keep_reason: KeepReason | None = None
    is_old: bool = True


@dataclass(frozen=True, slots=True)
class RetentionPortion:
    """What one transaction removes, and where the next one goes on; nowhere if `next` is None."""

    ids: list[int] = field(default_factory=list)
    size: int = 0
    kept: Mapping[KeepReason, int] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    next: RetentionCursor | None = None


def portion(candidates: Sequence[Candidate], looked_for: int, most: int) -> RetentionPortion:
    """Take candidates in their order while they are old, up to `most` rows, but one at least.

    `looked_for` is how many candidates were asked for: fewer are all that there are.
    """
    ids: list[int] = []
    kept: Counter[KeepReason] = Counter()
    moments: list[datetime] = []
    size, at, is_last = 0, None, len(candidates) < looked_for
    for each in candidates:
        if not each.is_old:
            is_last = True
            break
        if each.keep_reason is None:
            if ids and size + each.size > most:
                is_last = False
                break
            ids.append(each.id)
            size += each.size
            moments.append(each.at)
        elif each.keep_reason is not KeepReason.OTHER:
            kept[each.keep_reason] += 1
        at = RetentionCursor(each.at, each.id)
    since, until = (min(moments), max(moments)) if moments else (None, None)
    return RetentionPortion(ids, size, dict(kept), since, until, None if is_last else at)


def rest(seconds: float, *, contended: bool) -> float:
    """Return for how long to leave the database alone after a portion that took so long."""
    if contended:
        return CONTENDED_REST
    return max(SHORTEST_REST, REST * seconds)


def enabled(days: Mapping[RetainedKind, float]) -> dict[RetainedKind, float]:
    """Return for how many seconds each kind is kept; one that is kept for ever is left out."""
    return {kind: 86_400.0 * each for kind, each in days.items() if each > 0}
