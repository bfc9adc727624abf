"""Pause and unpause a DAG."""

from sqlalchemy import Connection

from headway.actions.lookup import current_dag
from headway.db.core import events
from headway.db.core.events import Event
from headway.db.users import dag_changes
from headway.domain.arguments import JsonValue


def set_paused(
    conn: Connection, dag_id: str, actor: str, reason: str | None = None, *, paused: bool
) -> bool:
    """Pause or unpause; return whether that changed anything."""
    before = current_dag(conn, dag_id).paused
    if before == paused:
        return False
    dag_changes.set_paused(conn, dag_id, paused=paused)
    action = "dag.pause" if paused else "dag.unpause"
    details: dict[str, JsonValue] = {} if reason is None else {"reason": reason}
    events.add(conn, Event(actor=actor, action=action, dag_id=dag_id, details=details))
    return True
