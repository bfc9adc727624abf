"""Notifications as people look at them.  Reads only."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import Connection, RowMapping, text

from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage
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
      JOIN dag ON dag.dag_id = run.dag_id
      JOIN notifier ON notifier.hash = it.notifier
      LEFT JOIN process ON process.id = it.process_id
     WHERE (CAST(:dag_id AS text) IS NULL OR run.dag_id = :dag_id)
       AND (CAST(:run_id AS text) IS NULL OR run.run_id = :run_id)
       AND (CAST(:state AS text) IS NULL OR it.state = :state)
       AND (CAST(:number AS bigint) IS NULL OR it.id = :number)
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND (CAST(:before AS bigint) IS NULL OR it.id < :before)
     ORDER BY it.id DESC
     LIMIT :limit
""")

_ALL: Final = {"bundles": None, "before": None}


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
    asked = {
        "dag_id": dag_id,
        "run_id": run_id,
        "state": state,
        "number": None,
        "limit": limit,
        **_ALL,
    }
    return [_view(row) for row in conn.execute(NOTIFICATIONS, asked).mappings()]


def page(
    conn: Connection,
    asked: Asked,
    dag_id: str | None = None,
    run_id: str | None = None,
    state: CallbackState | None = None,
) -> ListPage[NotificationView]:
    """Return a page of notifications, the latest first."""
    of = {"dag_id": dag_id, "run_id": run_id, "state": state and str(state)}
    listing = PagedList("notifications", (int,), "id", filters=of)
    (before,) = listing.key(asked.cursor) or (None,)
    parameters = {
        **of,
        "number": None,
        "bundles": paging.as_list(asked.bundles),
        "before": before,
        "limit": asked.limit + 1,
    }
    rows = [_view(row) for row in conn.execute(NOTIFICATIONS, parameters).mappings()]
    return paging.listed(rows, asked.limit, listing, lambda row: (row.notification,))


def notification(conn: Connection, number: int) -> NotificationView | None:
    """Return the notification of that number; None when there is none."""
    asked = {"dag_id": None, "run_id": None, "state": None, "number": number, "limit": 1, **_ALL}
    row = conn.execute(NOTIFICATIONS, asked).mappings().one_or_none()
    return None if row is None else _view(row)


def _view(row: RowMapping) -> NotificationView:
    kinds = {"event": NotifyEvent(row["event"]), "state": CallbackState(row["state"])}
    return NotificationView(**{**row, **kinds})
