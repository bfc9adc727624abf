"""The pass that starts queued runs."""

from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Engine

from headway.db import dags, processes, runs
from headway.db.processes import Identity
from headway.decide.start import startable
from headway.runtime.seam import nothing


def start_runs(
    engine: Engine,
    me: Identity,
    now: datetime,
    limit: int,
    before_commit: Callable[[], None] = nothing,
) -> int:
    """Start up to `limit` queued runs, within the limits of their DAG or backfill.

    The DAG's row is locked before its runs are counted: it is what protects the limits.
    """
    with engine.begin() as conn:
        processes.confirm(conn, me)
        locked = dags.lock_starting(conn, now, limit)
        if not locked:
            return 0
        free = runs.free_lanes(conn, locked)
        queued = runs.queued(conn, free, now, limit)
        ids = [run_id for dag_id in queued for run_id in startable(queued[dag_id], free[dag_id])]
        started = runs.lock_queued(conn, ids)
        runs.start(conn, started, now)
        before_commit()
    return len(started)
