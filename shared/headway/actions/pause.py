"""Pause and unpause a DAG."""

from sqlalchemy import Connection

from headway.actions.lookup import current_dag
from headway.db import dags, events
from headway.db.events import Event


def set_paused(conn: Connection, dag_id: str, actor: str, *, paused: bool) -> bool:
    """Pause or unpause; return whether that changed anything."""
    before = current_dag(conn, dag_id).paused
    if before == paused:
        return False
    dags.set_paused(conn, dag_id, paused=paused)
    action = "dag.pause" if paused else "dag.unpause"
    events.add(conn, Event(actor=actor, action=action, dag_id=dag_id))
    return True
