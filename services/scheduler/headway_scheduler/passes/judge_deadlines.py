"""The pass that judges deadlines which are over: met or missed, each recorded once."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from headway.db.core import events, processes
from headway.db.core.engine import reader
from headway.db.core.events import Event
from headway.db.core.processes import Identity
from headway.db.scheduling import missed_deadlines, run_events
from headway.decide.scheduling.deadlines import Judgement, judge
from headway.domain.states import DeadlineState
from headway.metrics.scheduler import DEADLINES_MISSED
from headway.runtime.daemon.seam import nothing
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)

MOST: Final = 500
"""Deadlines that are judged in one transaction."""


def judge_deadlines(
    replica: Replica, now: datetime, before_commit: Callable[[], None] = nothing
) -> int:
    """Judge deadlines that are over, and look again at those that may be; return how many.

    Nothing tells a deadline that its run has ended: what has ended, and when, is read when the
    deadline is over.  One that another scheduler judges, or whose run another transaction has, is
    left for the next pass.
    """
    with reader(replica.engine).connect() as conn:
        if not missed_deadlines.any_due(conn, now):
            return 0
    with replica.engine.begin() as conn:
        processes.confirm(conn, replica.me)
        due = missed_deadlines.lock_due(conn, now, MOST)
        if due:
            ended = missed_deadlines.write(
                conn, replica.me, [judge(deadline, now) for deadline in due]
            )
            missed = [judgement for judgement in ended if judgement.state is DeadlineState.MISSED]
            run_events.add_of_deadlines(conn, [judgement.of.id for judgement in missed])
            _tell(conn, replica.me, missed)
        before_commit()
    if due and missed:
        DEADLINES_MISSED.inc(by=len(missed))
    return len(due)


def _tell(conn: Connection, me: Identity, missed: list[Judgement]) -> None:
    for judgement in missed:
        due_at = judgement.due_at.isoformat() if judgement.due_at else None
        task = f" task={judgement.of.task_id}" if judgement.of.task_id is not None else ""
        name = judgement.of.name
        log.warning(
            "action=miss dag=%s run=%s%s deadline=%r",
            judgement.of.dag_id,
            judgement.of.run_id,
            task,
            name,
        )
        events.add(
            conn,
            Event(
                actor=f"scheduler:{me.id}",
                action="deadline.missed",
                dag_id=judgement.of.dag_id,
                run_id=judgement.of.run_id,
                task_id=judgement.of.task_id,
                details={"deadline": name, "due_at": due_at},
            ),
        )
