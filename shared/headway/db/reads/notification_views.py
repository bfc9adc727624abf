"""Notifications as people look at them.  Reads only."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, RowMapping, text

from headway.domain.dag.notifiers import NotifyEvent
from headway.domain.states import CallbackState

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


@dataclass(frozen=True, slots=True)
class NotificationView:
    """A message about what has happened.

    `notification` is its number, `key` the same in each try, so that a receiver knows the message
    again.  `events` is of how many things the message tells.  It is sent at `due_at` at the
    earliest, through `connection`.  `error` is why the last try failed.
    """

    notification: int
    key: UUID
    dag_id: str
    run_id: str
    event: NotifyEvent
    connection: str | None
    events: int
    state: CallbackState
    tries: int
    created_at: datetime
    due_at: datetime
    ended_at: datetime | None
    error: str | None
    worker: str | None


def notifications(
    conn: Connection,
    dag_id: str | None = None,
    run_id: str | None = None,
    state: CallbackState | None = None,
    limit: int = 100,
) -> list[NotificationView]:
    """Return notifications, the latest first: all of them, or those of a DAG, or of a run."""
    asked = {"dag_id": dag_id, "run_id": run_id, "state": state, "number": None, "limit": limit}
    return [_view(row) for row in conn.execute(NOTIFICATIONS, asked).mappings()]


def notification(conn: Connection, number: int) -> NotificationView | None:
    """Return the notification of that number; None when there is none."""
    asked = {"dag_id": None, "run_id": None, "state": None, "number": number, "limit": 1}
    row = conn.execute(NOTIFICATIONS, asked).mappings().one_or_none()
    return None if row is None else _view(row)


def _view(row: RowMapping) -> NotificationView:
    kinds = {"event": NotifyEvent(row["event"]), "state": CallbackState(row["state"])}
    return NotificationView(**{**row, **kinds})
