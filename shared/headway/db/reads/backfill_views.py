"""SQL that shows how far backfills are, and what holds them up."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, text

from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage
from headway.domain.backfill import BackfillState, DateDecision, Direction, Reprocess
from headway.domain.hints import Action, Hint, act, hint
from headway.domain.states import RunState

# A run has the tasks of its version until it starts, and from then on instances of them.
PROGRESS = text("""
    SELECT backfill.id, backfill.dag_id, backfill.from_date, backfill.to_date,
           backfill.max_active_runs, backfill.planned, backfill.created_at, backfill.reprocess,
           backfill.direction, backfill.rollup, backfill.weight, backfill.idle_only,
           backfill.paused, backfill.cancelled_at,
           run.queued, run.running, run.succeeded, run.failed,
           task.total AS tasks, task.ended AS tasks_ended,
           task.succeeded AS tasks_succeeded, task.skipped AS tasks_skipped,
           task.failed AS tasks_failed
      FROM (SELECT * FROM backfill
             WHERE (CAST(:id AS bigint) IS NULL OR id = :id)
               AND (CAST(:dag_id AS text) IS NULL OR dag_id = :dag_id)
             ORDER BY id DESC
             LIMIT :limit) AS backfill
     CROSS JOIN LATERAL (
           SELECT count(*) FILTER (WHERE state = 'queued') AS queued,
                  count(*) FILTER (WHERE state = 'running') AS running,
                  count(*) FILTER (WHERE state = 'success') AS succeeded,
                  count(*) FILTER (WHERE state = 'failed') AS failed
             FROM dag_run WHERE backfill_id = backfill.id) AS run
     CROSS JOIN LATERAL (
           SELECT CAST(coalesce(sum(CASE WHEN instances > 0 THEN instances
                                         ELSE (SELECT count(*) FROM dag_task
                                                WHERE version_id = dag_run.version_id) END), 0)
                       AS bigint) AS total,
                  CAST(coalesce(sum(ended), 0) AS bigint) AS ended,
                  CAST(coalesce(sum(succeeded), 0) AS bigint) AS succeeded,
                  CAST(coalesce(sum(skipped), 0) AS bigint) AS skipped,
                  CAST(coalesce(sum(failed), 0) AS bigint) AS failed
             FROM dag_run
            CROSS JOIN LATERAL (
                  SELECT count(*) AS instances,
                         count(*) FILTER (WHERE state IN ('success', 'skipped', 'failed',
                                                          'upstream_failed', 'removed')) AS ended,
                         count(*) FILTER (WHERE state = 'success') AS succeeded,
                         count(*) FILTER (WHERE state = 'skipped') AS skipped,
                         count(*) FILTER (WHERE state IN ('failed', 'upstream_failed')) AS failed
                    FROM task_instance WHERE dag_run_id = dag_run.id) AS instance
            WHERE backfill_id = backfill.id AND :counted) AS task
     ORDER BY backfill.id
""")


HOLD = text("""
    SELECT backfill.id, dag.dag_id, backfill.paused, dag.paused AS dag_paused, dag.active
      FROM backfill
      JOIN dag USING (dag_id)
     WHERE backfill.id = :id
""")


DATES = text("""
    SELECT it.position, it.interval_start, it.interval_end, it.schedule_date, it.decision,
           it.reason, it.run_id, run.state
      FROM backfill_date AS it
      LEFT JOIN dag_run AS run ON run.id = it.dag_run_id
     WHERE it.backfill_id = :id AND (CAST(:after AS int) IS NULL OR it.position > :after)
     ORDER BY it.position
     LIMIT :limit
""")


UNFINISHED = text("""
    SELECT id FROM dag_run
     WHERE backfill_id = :id AND state IN ('queued', 'running')
     ORDER BY run_after, id
""")


@dataclass(frozen=True, slots=True)
class BackfillProgress:
    """How far a backfill has come.

    Its runs are `planned` in all; of these so many are queued, running, succeeded or failed.
    `tasks` are the task instances of these runs.  `rollup` is how many intervals a run takes
    together, `weight` the percentage of each pool's slots that its tasks may hold.
    """

    id: int
    dag_id: str
    from_date: datetime
    to_date: datetime
    max_active_runs: int
    planned: int
    created_at: datetime
    reprocess: Reprocess
    direction: Direction
    rollup: int
    weight: int
    idle_only: bool
    paused: bool
    cancelled_at: datetime | None
    queued: int
    running: int
    succeeded: int
    failed: int
    tasks: int
    tasks_ended: int
    tasks_succeeded: int
    tasks_skipped: int
    tasks_failed: int

    @property
    def finished(self) -> bool:
        """Whether every run has ended: nothing of the plan is left when these are taken away."""
        return self.succeeded + self.failed >= self.planned

    @property
    def state(self) -> BackfillState:
        """What to call it; of one that has ended, failed when a run has failed."""
        if self.cancelled_at is not None:
            return BackfillState.CANCELLED if self.finished else BackfillState.CANCELLING
        if not self.finished:
            return BackfillState.PAUSED if self.paused else BackfillState.RUNNING
        if not self.planned:
            return BackfillState.EMPTY
        return BackfillState.FAILED if self.failed else BackfillState.SUCCESS


@dataclass(frozen=True, slots=True)
class Hold:
    """What may keep a backfill from starting any run."""

    id: int
    dag_id: str
    paused: bool
    dag_paused: bool
    active: bool

    @property
    def why(self) -> Hint | None:
        """Say why it starts nothing, and what to do; None when it does."""
        dag = self.dag_id
        if not self.active:
            return hint(
                f"DAG {dag} is in no DAG file any more: the backfill waits until it is, or ",
                *(act(Action.CANCEL_BACKFILL, backfill_id=self.id), " ends it."),
            )
        if self.dag_paused:
            return hint(
                f"DAG {dag} is paused: the backfill starts nothing until ",
                *(act(Action.UNPAUSE_DAG, dag_id=dag), "."),
            )
        if self.paused:
            return hint(
                f"Backfill {self.id} is paused: it starts nothing until ",
                *(act(Action.RESUME_BACKFILL, backfill_id=self.id), "."),
            )
        return None


@dataclass(frozen=True, slots=True)
class BackfillDateView:
    """What becomes of one date of a backfill's plan, and why.

    `run_id` names the run that the date has, or that is in its way, and `state` is the state of
    that run; each is None where there is none.
    """

    interval_start: datetime
    interval_end: datetime
    schedule_date: datetime
    decision: DateDecision
    reason: str
    run_id: str | None
    state: RunState | None


def hold(conn: Connection, backfill_id: int) -> Hold | None:
    """Return what may keep a backfill from starting runs; None when there is no such backfill."""
    row = conn.execute(HOLD, {"id": backfill_id}).one_or_none()
    return None if row is None else Hold(*row)


def unfinished(conn: Connection, backfill_id: int) -> list[int]:
    """Return the runs of a backfill that have not ended, oldest first."""
    return list(conn.scalars(UNFINISHED, {"id": backfill_id}))


def dates(conn: Connection, backfill_id: int) -> list[BackfillDateView]:
    """Return what becomes of each date of a backfill, in the order of its plan."""
    wanted = {"id": backfill_id, "after": None, "limit": None}
    return [_date(row) for row in conn.execute(DATES, wanted)]


def dates_page(conn: Connection, asked: Asked, backfill_id: int) -> ListPage[BackfillDateView]:
    """Return a page of the dates of a backfill that the reader may see, in the plan's order."""
    listing = PagedList("dates of a backfill", (int,), "position", filters={"id": backfill_id})
    (after,) = listing.key(asked.cursor) or (None,)
    wanted = {"id": backfill_id, "after": after, "limit": asked.limit + 1}
    rows = [(row.position, _date(row)) for row in conn.execute(DATES, wanted)]
    found = paging.listed(rows, asked.limit, listing, lambda row: (row[0],))
    return ListPage([date for _, date in found.rows], found.following)


def _date(row: Row[Any]) -> BackfillDateView:
    return BackfillDateView(
        row.interval_start,
        row.interval_end,
        row.schedule_date,
        DateDecision(row.decision),
        row.reason,
        row.run_id,
        row.state and RunState(row.state),
    )


def progress(conn: Connection, backfill_id: int | None = None) -> list[BackfillProgress]:
    """Return how far that backfill, or every one, has come."""
    wanted = {"id": backfill_id, "dag_id": None, "limit": None, "counted": True}
    return _progress(conn, wanted)


def latest(conn: Connection, most: int, dag_id: str | None = None) -> list[BackfillProgress]:
    """Return how far the latest backfills, or those of a DAG, have come, up to so many.

    Their tasks are not counted, which takes long.
    """
    wanted = {"id": None, "dag_id": dag_id, "limit": most, "counted": False}
    return _progress(conn, wanted)


def _progress(conn: Connection, wanted: Mapping[str, object]) -> list[BackfillProgress]:
    found = []
    for row in conn.execute(PROGRESS, wanted).mappings():
        kinds = {
            "reprocess": Reprocess(row["reprocess"]),
            "direction": Direction(row["direction"]),
        }
        found.append(BackfillProgress(**{**row, **kinds}))
    return found
