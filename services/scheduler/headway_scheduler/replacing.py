"""How runs that have not ended make way for one that is due (`overlap="cancel_running"`)."""

import logging

from sqlalchemy import Connection

from headway.db import endings, events, interventions, wakes
from headway.db.events import Event
from headway.db.processes import Identity
from headway.decide.intervene import end
from headway.domain.states import Role, RunState, TaskState

log = logging.getLogger(__name__)


def cancel_unfinished(conn: Connection, me: Identity, dag_id: str) -> list[int]:
    """Have the unfinished runs of a locked DAG's schedule end as failed; return them.

    What runs is told to stop, what has not begun is skipped.  A run, or a task, that another
    transaction has is waited for.
    """
    locked = interventions.lock_scheduled(conn, dag_id)
    unfinished = interventions.lock_unfinished(conn, locked)
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
        interventions.write(
            conn, what, Role.SCHEDULER, (f"scheduler:{me.id}", "run.cancel", "overlap")
        )
        if run.state is RunState.QUEUED:
            endings.end(conn, run.id, RunState.FAILED, Role.SCHEDULER)
    running = [run.id for run in locked if run.state is RunState.RUNNING]
    endings.end_as(conn, running, RunState.FAILED)
    wakes.add(conn, running)
    return [run.id for run in locked]
