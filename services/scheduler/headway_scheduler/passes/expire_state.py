"""The pass that removes what has expired in the state stores of tasks."""

import logging

from headway.db.core import processes
from headway.db.recovery import expired_state
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)


def expire_state(replica: Replica) -> int:
    """Remove values that have expired, a limited number; return how many.

    Nobody reads them any more: only their room is of use.
    """
    with replica.engine.begin() as conn:
        processes.confirm(conn, replica.me)
        removed = expired_state.delete(conn)
    if removed:
        log.info("action=expire_state values=%d", removed)
    return removed
