"""SQL on events: the journal of who changed what.  Written with the change, never altered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from json import dumps

from sqlalchemy import Connection, text

from headway.domain.arguments import JsonValue

# In one statement, so that whoever may be named as the actor has left an event: the
# guards refuse what a user moves in a transaction that has no actor.
ADD = text("""
    WITH added AS (
        INSERT INTO event (actor, action, dag_id, run_id, task_id, details)
        VALUES (:actor, :action, :dag_id, :run_id, :task_id, CAST(:details AS json))
    )
    SELECT set_config('headway.actor', :actor, true)
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change: `actor` is a user ("user:ann") or a service ("scheduler:12")."""

    actor: str
    action: str
    dag_id: str | None = None
    run_id: str | None = None
    task_id: str | None = None
    details: Mapping[str, JsonValue] = field(default_factory=dict)


def add(conn: Connection, event: Event) -> None:
    """Enter an event, in the transaction of the change that it tells of.

    Call it before the change: the database refuses a user's moves, and every move out of
    a state that is final, in a transaction that has not entered one.
    """
    conn.execute(
        ADD,
        {
            "actor": event.actor,
            "action": event.action,
            "dag_id": event.dag_id,
            "run_id": event.run_id,
            "task_id": event.task_id,
            "details": dumps(dict(event.details)),
        },
    )
