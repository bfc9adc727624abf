"""Add to an explanation what deadlines there are for what it is about."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from headway.db.reads import deadline_views
from headway.decide.explain.deadlines import explain_deadlines
from headway.decide.explain.explanation import Explanation
from headway.decide.explain.snapshot import DeadlineRow


def with_deadlines(conn: Connection, told: Explanation, now: datetime) -> Explanation:
    """Say by when the run and the task are to have ended, as further facts."""
    if told.subject is None:
        return told
    found = deadline_views.deadlines(conn, told.subject.dag_id, told.subject.run_id)
    rows = [
        DeadlineRow(
            task_id=deadline.task_id,
            deadline=deadline.deadline,
            due_at=deadline.due_at,
            state=deadline.state,
        )
        for deadline in found
    ]
    facts = explain_deadlines(rows, told.subject.task_id, now)
    return replace(told, facts=(*told.facts, *facts))
