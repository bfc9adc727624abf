"""The pass that removes a portion of what the policy of retention keeps no longer."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headway.db.core import processes
from headway.db.retention import expiry
from headway.decide.scheduling.expire import RetentionCursor, RetentionPortion, portion
from headway.domain.retention import RetainedKind
from headway.runtime.daemon.seam import nothing
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)

LOOKED_AT: Final = 200
"""Rows that one portion reads."""

MOST: Final = 1000
"""Rows that one portion removes, task instances counted, or one run if that has more."""


@dataclass(frozen=True, slots=True)
class Expired:
    """What was to go, and how many rows of it went."""

    portion: RetentionPortion
    removed: int

    @property
    def contended(self) -> bool:
        """Whether another process held some of these rows, as one does that removes them too."""
        return self.removed < len(self.portion.ids)


def expire(
    replica: Replica,
    kind: RetainedKind,
    seconds: float,
    place: RetentionCursor,
    before_commit: Callable[[], None] = nothing,
) -> Expired:
    """Remove the next rows of a kind that ended more than so many seconds ago."""
    with replica.engine.begin() as conn:
        processes.confirm(conn, replica.me, repeatable=True)
        found = expiry.candidates(conn, kind, seconds, place, LOOKED_AT, None)
        part = portion(found, LOOKED_AT, MOST)
        details = {"older_than_seconds": seconds, "policy": True}
        actor = f"scheduler:{replica.me.id}"
        removed = expiry.remove(conn, kind, actor, part.ids, details) if part.ids else 0
        before_commit()
    if removed:
        log.info("action=expire kind=%s removed=%d rows=%d", kind, removed, part.size)
    return Expired(part, removed)
