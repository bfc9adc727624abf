"""Callbacks as people look at them.  Reads only."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, RowMapping, text

from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.states import CallbackState

CALLBACKS = text("""
    SELECT it.id AS callback, run.dag_id, run.run_id, it.task_id, it.map_index, it.attempt,
           it.event, it.reason, it.state, it.tries, it.error, it.cause, it.created_at,
           it.started_at, it.ended_at, process.hostname AS worker
      FROM callback AS it
      JOIN dag_run AS run ON run.id = it.dag_run_id
      JOIN dag ON dag.dag_id = run.dag_id
      LEFT JOIN process ON process.id = it.process_id
     WHERE (CAST(:dag_id AS text) IS NULL OR run.dag_id = :dag_id)
       AND (CAST(:run_id AS text) IS NULL OR run.run_id = :run_id)
       AND (CAST(:state AS text) IS NULL OR it.state = :state)
       AND (CAST(:callback AS bigint) IS NULL OR it.id = :callback)
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND (CAST(:before AS bigint) IS NULL OR it.id < :before)
     ORDER BY it.id DESC
     LIMIT :limit
""")

_ALL: Final = {"bundles": None, "before": None}


@dataclass(frozen=True, slots=True)
class CallbackView:
    """The call of a DAG's own functions for one event.

    `callback` is its number.  Task, index and attempt are those of the attempt that has ended;
    all three are None for an event of the run itself.  `reason` is the outcome of the attempt or
    what has ended the run, `cause` the error of the attempt.  `error` is why the call failed.
    """

    callback: int
    dag_id: str
    run_id: str
    task_id: str | None
    map_index: int | None
    attempt: int | None
    event: CallbackEvent
    reason: str
    state: CallbackState
    tries: int
    error: str | None
    cause: str | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    worker: str | None


def callbacks(
    conn: Connection,
    dag_id: str | None = None,
    run_id: str | None = None,
    state: CallbackState | None = None,
    limit: int = 100,
) -> list[CallbackView]:
    """Return callbacks, the latest first: all of them, or those of a DAG, or of a run."""
    asked = {
        "dag_id": dag_id,
        "run_id": run_id,
        "state": state,
        "callback": None,
        "limit": limit,
        **_ALL,
    }
    return [_view(row) for row in conn.execute(CALLBACKS, asked).mappings()]


def page(
    conn: Connection,
    asked: Asked,
    dag_id: str | None = None,
    run_id: str | None = None,
    state: CallbackState | None = None,
) -> ListPage[CallbackView]:
    """Return a page of callbacks, the latest first."""
    of = {"dag_id": dag_id, "run_id": run_id, "state": state and str(state)}
    listing = PagedList("callbacks", (int,), "id", filters=of)
    (before,) = listing.key(asked.cursor) or (None,)
    parameters = {
        **of,
        "callback": None,
        "bundles": paging.as_list(asked.bundles),
        "before": before,
        "limit": asked.limit + 1,
    }
    rows = [_view(row) for row in conn.execute(CALLBACKS, parameters).mappings()]
    return paging.listed(rows, asked.limit, listing, lambda row: (row.callback,))


def callback(conn: Connection, number: int) -> CallbackView | None:
    """Return the callback of that number; None when there is none."""
    asked = {"dag_id": None, "run_id": None, "state": None, "callback": number, "limit": 1, **_ALL}
    row = conn.execute(CALLBACKS, asked).mappings().one_or_none()
    return None if row is None else _view(row)


def _view(row: RowMapping) -> CallbackView:
    kinds = {"event": CallbackEvent(row["event"]), "state": CallbackState(row["state"])}
    return CallbackView(**{**row, **kinds})
