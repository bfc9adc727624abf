"""The journal: who changed what, and why.  Reads only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from headway.domain.arguments import JsonValue

EVENTS = text("""
    SELECT at, actor, action, dag_id, run_id, task_id, details
      FROM event
     WHERE (CAST(:dag_id AS text) IS NULL OR dag_id = :dag_id)
       AND (CAST(:run_id AS text) IS NULL OR run_id = :run_id)
     ORDER BY id DESC
     LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class EventView:
    """An entry of the journal.

    `actor` is "user:NAME" or a service; what has no DAG, run or task is None.  The entry stays
    when these are deleted.
    """

    at: datetime
    actor: str
    action: str
    dag_id: str | None
    run_id: str | None
    task_id: str | None
    details: Mapping[str, JsonValue]


def events(
    conn: Connection, dag_id: str | None = None, run_id: str | None = None, limit: int = 100
) -> list[EventView]:
    """Return the journal, the latest entry first: all of it, or that of a DAG, or of a run."""
    asked = {"dag_id": dag_id, "run_id": run_id, "limit": limit}
    return [EventView(**row) for row in conn.execute(EVENTS, asked).mappings()]
