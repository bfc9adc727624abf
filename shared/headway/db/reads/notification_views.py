"""Notifications as people look at them.  Reads only."""

from typing import Any, TypeAlias

from sqlalchemy import Connection, text

Row: TypeAlias = dict[str, Any]

NOTIFICATIONS = text("""
    SELECT it.id AS notification, it.key, run.dag_id, run.run_id, it.event,
           notifier.definition ->> 'connection' AS connection,
           (SELECT count(*) FROM notified_event WHERE notification_id = it.id) AS events,
           it.state, it.tries, it.created_at, it.due_at, it.ended_at, it.error,
           process.hostname AS worker
      FROM notification AS it
      JOIN dag_run AS run ON run.id = it.dag_run_id
      JOIN notifier ON notifier.hash = it.notifier
      LEFT JOIN process ON process.id = it.process_id
     WHERE (CAST(:dag_id AS text) IS NULL OR run.dag_id = :dag_id)
       AND (CAST(:run_id AS text) IS NULL OR run.run_id = :run_id)
       AND (CAST(:state AS text) IS NULL OR it.state = :state)
       AND (CAST(:number AS bigint) IS NULL OR it.id = :number)
     ORDER BY it.id DESC
     LIMIT :limit
""")


def notifications(
    conn: Connection,
    dag_id: str | None = None,
    run_id: str | None = None,
    state: str | None = None,
    limit: int = 100,
) -> list[Row]:
    """Return notifications, those that were made last first."""
    given = {"dag_id": dag_id, "run_id": run_id, "state": state, "limit": limit}
    return _rows(conn, {**given, "number": None})


def notification(conn: Connection, number: int) -> Row | None:
    """Return the notification of that number."""
    anything = dict.fromkeys(("dag_id", "run_id", "state"))
    rows = _rows(conn, {**anything, "limit": 1, "number": number})
    return rows[0] if rows else None


def _rows(conn: Connection, given: dict[str, Any]) -> list[Row]:
    return [dict(row) for row in conn.execute(NOTIFICATIONS, given).mappings()]
