"""The pass that ends runs which have taken longer than their DAG allows (`dagrun_timeout`)."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime

from sqlalchemy import Connection

from headway.db.changes import run_changes, run_end
from headway.db.changes.run_changes import LockedRun
from headway.db.core import events, processes
from headway.db.core.events import Event
from headway.db.core.processes import Identity
from headway.db.scheduling import wakes
from headway.db.scheduling.scope import KeyFilter
from headway.decide.changes.intervene import end
from headway.domain.states import Role, RunState, TaskState
from headway.runtime.daemon.seam import nothing
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)


def time_out(replica: Replica, now: datetime, before_commit: Callable[[], None] = nothing) -> int:
    """Have runs whose deadline is past end as failed; return how many there were.

    What runs is told to stop, what has not begun is skipped, what has ended stays as it
    ended.  A run that another transaction has is left for the next pass; a task that a worker
    is just reporting, or another scheduler queueing, is waited for.
    """
    limit = replica.settings.max_dagruns_per_loop_to_schedule

    def end_overdue(choice: KeyFilter[int], locked_keys: list[int]) -> int:
        with replica.engine.begin() as conn:
            processes.confirm(conn, replica.me)
            overdue = run_changes.lock_overdue(conn, now, limit, replica.scope, choice)
            locked_keys += [run.id for run in overdue]
            if overdue:
                _end(conn, replica.me, overdue)
            before_commit()
        return len(overdue)

    return sum(replica.ending.each(replica.engine, replica.me, now, end_overdue))


def _end(conn: Connection, me: Identity, overdue: Sequence[LockedRun]) -> None:
    unfinished = run_changes.lock_unfinished(conn, overdue)
    for run in overdue:
        what = end(unfinished[run.id], TaskState.SKIPPED)
        log.warning("action=time_out dag=%s run=%s", run.dag_id, run.run_id)
        events.add(
            conn,
            Event(
                actor=f"scheduler:{me.id}",
                action="run.time_out",
                dag_id=run.dag_id,
                run_id=run.run_id,
                details={"stopped": sum(map(len, what.stops.values()))},
            ),
        )
        run_changes.write(
            conn, what, Role.SCHEDULER, (f"scheduler:{me.id}", "run.time_out", "dagrun_timeout")
        )
    ids = [run.id for run in overdue]
    run_end.end_as(conn, ids, RunState.FAILED, timed_out=True)
    wakes.add(conn, ids)
