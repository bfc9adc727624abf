"""The pass that starts queued runs."""

from collections.abc import Callable
from datetime import datetime

from headway.db import dags, processes, runs
from headway.db.choice import Choice
from headway.decide.start import startable
from headway.runtime.seam import nothing
from headway_scheduler.replica import Replica


def start_runs(replica: Replica, now: datetime, before_commit: Callable[[], None] = nothing) -> int:
    """Start queued runs, within the limits of their DAG or backfill; return how many.

    The DAG's row is locked before its runs are counted: it is what protects the limits.
    """
    limit, scope = replica.settings.max_dagruns_per_loop_to_schedule, replica.scope

    def start(choice: Choice[str], taken: list[str]) -> int:
        with replica.engine.begin() as conn:
            processes.confirm(conn, replica.me, repeatable=True)
            locked = dags.lock_starting(conn, now, limit, scope, choice)
            if not locked:
                return 0
            taken += locked
            free = runs.free_lanes(conn, locked)
            queued = runs.queued(conn, free, now, limit, scope)
            ids = [run for dag_id in queued for run in startable(queued[dag_id], free[dag_id])]
            started = runs.lock_queued(conn, ids, scope)
            runs.start(conn, started, now, replica.settings.priority_aging)
            before_commit()
        return len(started)

    return sum(replica.starting.each(replica.engine, replica.me, now, start))
