"""How runs that have not ended make way for one that is due (`overlap="cancel_running"`)."""

import logging
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from headway.db.changes import run_changes, run_end
from headway.db.core import events
from headway.db.core.events import Event
from headway.db.core.processes import Identity
from headway.db.scheduling import wakes
from headway.decide.changes.intervene import end
from headway.domain.states import Role, RunState, TaskState
from headway.metrics.scheduler import RUNS_ENDED
from headway_scheduler.replica.tracing import Tracing

log = logging.getLogger(__name__)


class ReplacedRuns(NamedTuple):
    """How many runs of a DAG make way, and which of them have ended already."""

    dag_id: str
    runs: int
    ended: Sequence[int]


def cancel_unfinished(conn: Connection, me: Identity, dag_id: str) -> ReplacedRuns:
    """Have the unfinished runs of a locked DAG's schedule end as failed; return which.

    One that waits ends at once, any other when nothing of it is live.  What runs is told to stop,
    what has not begun is skipped.  A run, or a task, that another transaction has is waited for.
    """
    locked = run_changes.lock_scheduled(conn, dag_id)
    unfinished = run_changes.lock_unfinished(conn, locked)
    for run in locked:
        what = end(unfinished[run.id], TaskState.FAILED)
        log.info("action=cancel_run dag=%s run=%s", run.dag_id, run.run_id)
        events.add(
            conn,
            Event(
                actor=f"scheduler:{me.id}",
                action="run.cancel",
                dag_id=run.dag_id,
                run_id=run.run_id,
                details={"reason": "overlap", "stopped": sum(map(len, what.stops.values()))},
            ),
        )
        run_changes.write(
            conn, what, Role.SCHEDULER, (f"scheduler:{me.id}", "run.cancel", "overlap")
        )
        if run.state is RunState.QUEUED:
            run_end.end(conn, run.id, RunState.FAILED, Role.SCHEDULER)
    running = [run.id for run in locked if run.state is RunState.RUNNING]
    run_end.end_as(conn, running, RunState.FAILED)
    wakes.add(conn, running)
    ended = [run.id for run in locked if run.state is RunState.QUEUED]
    return ReplacedRuns(dag_id, len(locked), ended)


def tell_ended(tracing: Tracing, cancelled: Sequence[ReplacedRuns]) -> int:
    """Count and trace what has ended, once the database has it; return how many runs make way."""
    for replaced in cancelled:
        if replaced.ended:
            RUNS_ENDED.inc(replaced.dag_id, RunState.FAILED, by=len(replaced.ended))
    tracing.runs_ended([run for replaced in cancelled for run in replaced.ended])
    return sum(replaced.runs for replaced in cancelled)
