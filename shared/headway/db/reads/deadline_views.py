"""Deadlines as people look at them.  Reads only."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, RowMapping, text

from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage
from headway.domain.states import TERMINAL, DeadlineState

# One that is over, or met, is shown so before a scheduler has judged it.
DEADLINES = text("""
    SELECT it.id, run.dag_id, run.run_id, it.task_id, it.name AS deadline,
           coalesce(it.due_at, known.due_at) AS due_at, known.ended_at,
           CASE WHEN it.state <> 'open' THEN it.state
                WHEN known.ended_at <= coalesce(it.due_at, known.due_at, known.ended_at)
                THEN 'met' ELSE 'open' END AS state,
           it.judged_at
      FROM deadline AS it
      JOIN dag_run AS run ON run.id = it.dag_run_id
      JOIN dag ON dag.dag_id = run.dag_id
     CROSS JOIN LATERAL (
           SELECT (SELECT run.started_at + make_interval(secs => its.seconds)
                     FROM dag_deadline AS its
                    WHERE its.version_id = run.version_id AND its.name = it.name
                      AND coalesce(its.task_id, '') = coalesce(it.task_id, '')
                      AND its.reference = 'start') AS due_at,
                  CASE WHEN it.task_id IS NULL THEN run.ended_at
                       ELSE least(run.ended_at,
                                  (SELECT max(task.ended_at) FROM task_instance AS task
                                    WHERE task.dag_run_id = run.id AND task.task_id = it.task_id
                                   HAVING bool_and(task.state = ANY (:terminal)))) END
                  AS ended_at) AS known
     WHERE (CAST(:dag_id AS text) IS NULL OR run.dag_id = :dag_id)
       AND (CAST(:run_id AS text) IS NULL OR run.run_id = :run_id)
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND (CAST(:before AS bigint) IS NULL OR it.id < :before)
       AND (CAST(:state AS text) IS NULL OR it.state IN (:state, 'open'))
       AND (CAST(:state AS text) IS NULL OR
            CASE WHEN it.state <> 'open' THEN it.state
                 WHEN known.ended_at <= coalesce(it.due_at, known.due_at, known.ended_at)
                 THEN 'met' ELSE 'open' END = :state)
     ORDER BY it.id DESC
     LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class DeadlineView:
    """The deadline of a run, or of a task in it.

    `task_id` is None for a deadline of the run itself.  `due_at` is None while the run that it is
    counted from has not started.  `ended_at` is when the run or the task has ended.  `judged_at`
    is when a scheduler judged the deadline; the state may be `met` before that.
    """

    dag_id: str
    run_id: str
    task_id: str | None
    deadline: str
    due_at: datetime | None
    ended_at: datetime | None
    state: DeadlineState
    judged_at: datetime | None


def deadlines(
    conn: Connection,
    dag_id: str | None = None,
    run_id: str | None = None,
    state: DeadlineState | None = None,
    limit: int = 1000,
) -> list[DeadlineView]:
    """Return deadlines of runs and their tasks, those that were entered last first."""
    asked = {
        "dag_id": dag_id,
        "run_id": run_id,
        "state": state,
        "bundles": None,
        "before": None,
        "limit": limit,
        "terminal": sorted(TERMINAL),
    }
    return [_view(row) for row in conn.execute(DEADLINES, asked).mappings()]


def page(
    conn: Connection,
    asked: Asked,
    dag_id: str | None = None,
    run_id: str | None = None,
    state: DeadlineState | None = None,
) -> ListPage[DeadlineView]:
    """Return a page of deadlines, those that were entered last first."""
    of = {"dag_id": dag_id, "run_id": run_id, "state": state and str(state)}
    listing = PagedList("deadlines", (int,), "id", filters=of)
    (before,) = listing.key(asked.cursor) or (None,)
    parameters = {
        **of,
        "bundles": paging.as_list(asked.bundles),
        "before": before,
        "limit": asked.limit + 1,
        "terminal": sorted(TERMINAL),
    }
    rows = [(row["id"], _view(row)) for row in conn.execute(DEADLINES, parameters).mappings()]
    found = paging.listed(rows, asked.limit, listing, lambda row: (row[0],))
    return ListPage([deadline for _, deadline in found.rows], found.following)


def _view(row: RowMapping) -> DeadlineView:
    fields = {name: value for name, value in row.items() if name != "id"}
    return DeadlineView(**{**fields, "state": DeadlineState(row["state"])})
