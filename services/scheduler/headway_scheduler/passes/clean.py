"""The pass that cleans up what rows that were deleted by hand have left behind."""

import logging

from headway.db.core import processes
from headway.db.recovery import orphans
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)


def clean(replica: Replica) -> int:
    """Fail task instances without a run; delete wakes and leases of what is gone.

    Nothing in Headway leaves such rows; deleting rows in the database by hand may.
    """
    with replica.engine.begin() as conn:
        processes.confirm(conn, replica.me)
        failed = orphans.fail_tasks(conn)
        deleted = orphans.delete(conn)
    if failed or deleted:
        log.warning("action=clean failed_tasks=%d deleted_rows=%d", failed, deleted)
    return failed + deleted
