"""The pass that starts queued runs."""

import logging
from collections.abc import Callable
from datetime import datetime

from headway.db.core import processes
from headway.db.scheduling import queued_runs
from headway.db.scheduling.scope import KeyFilter
from headway.decide.scheduling.start import startable
from headway.metrics.scheduler import SCHEDULE_DELAY
from headway.runtime.daemon.seam import nothing
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)


def nobody(_runs: int) -> None:
    """Tell nobody."""


def start_runs(
    replica: Replica,
    now: datetime,
    before_commit: Callable[[], None] = nothing,
    parses_requested: Callable[[int], None] = nobody,
) -> int:
    """Start queued runs, within the limits of their DAG or backfill; return how many.

    The DAG's row is locked before its runs are counted: it is what protects the limits.
    Runs that are not pinned to a version wait for a parse of their DAG file; how many
    parses are requested is told to `parses_requested` after the commit.
    """
    limit, scope = replica.settings.max_dagruns_per_loop_to_schedule, replica.scope
    parses: list[int] = []

    def start(choice: KeyFilter[str], locked_keys: list[str]) -> int:
        with replica.engine.begin() as conn:
            processes.confirm(conn, replica.me, repeatable=True)
            locked = queued_runs.lock_starting(conn, now, limit, scope, choice)
            if not locked:
                return 0
            locked_keys += locked
            free = queued_runs.free_run_slots(conn, locked)
            queued = queued_runs.queued(conn, free, now, limit, scope)
            ids = [run for dag_id in queued for run in startable(queued[dag_id], free[dag_id])]
            found = queued_runs.lock_queued(conn, ids, scope)
            queued_runs.start(conn, found.ids, now, replica.settings.priority_aging)
            queued_runs.request_parse(conn, found.unpinned, now)
            before_commit()
        parses.extend(found.unpinned)
        SCHEDULE_DELAY.observe_all((now - due).total_seconds() for due in found.due)
        return len(found.ids)

    started = sum(replica.starting.each(replica.engine, replica.me, now, start))
    if parses:
        log.info("action=request_parse runs=%d", len(parses))
        parses_requested(len(parses))
    return started
