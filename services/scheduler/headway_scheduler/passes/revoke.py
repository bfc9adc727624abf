"""The pass that takes attempts back which no worker claims."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from headway.db.core import processes
from headway.db.recovery import ownership
from headway.metrics.scheduler import ATTEMPTS_REVOKED
from headway.runtime.daemon.seam import nothing
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)

LIMIT: Final = 500
"""How many attempts one pass takes back."""


def revoke(replica: Replica, now: datetime, before_commit: Callable[[], None] = nothing) -> int:
    """Schedule tasks anew that were queued for too long; return how many.

    They held slots that others can use.  It is no failure of theirs and no loss; they keep
    all their retries.
    """
    settings = replica.settings
    with replica.engine.begin() as conn:
        processes.confirm(conn, replica.me)
        revoked = ownership.revoke(
            conn, now, settings.task_queued_timeout, settings.priority_aging, LIMIT
        )
        for queue, count in revoked.items():
            log.warning("action=revoke queue=%s attempts=%d: no worker claimed them", queue, count)
        before_commit()
    ATTEMPTS_REVOKED.inc(by=sum(revoked.values()))
    return sum(revoked.values())
