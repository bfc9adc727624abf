"""The pass that gathers what notifiers tell of into messages, which workers send."""

import logging
from collections.abc import Callable
from typing import Final

from headway.db.core import processes
from headway.db.core.engine import reader
from headway.db.scheduling import notifications
from headway.runtime.daemon.seam import nothing
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)

MOST: Final = 1000
"""Events that are gathered in one transaction."""


def gather_notifications(replica: Replica, before_commit: Callable[[], None] = nothing) -> int:
    """Put events that no message tells of into messages; return how many there were.

    What happens to one run, of one kind, is one message for as long as no worker has taken that:
    a flood is one message with a count.
    """
    with reader(replica.engine).connect() as conn:
        if not notifications.any_new(conn):
            return 0
    settings = replica.settings
    with replica.engine.begin() as conn:
        processes.confirm(conn, replica.me)
        gathered = notifications.gather(
            conn, MOST, settings.notification_gather_time, settings.notification_spacing
        )
        before_commit()
    if gathered:
        log.info("action=gather_notifications events=%d", gathered)
    return gathered
