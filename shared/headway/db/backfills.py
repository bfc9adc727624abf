"""SQL on backfills: a range of intervals that a user asked to be run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

SET_PLANNED = text("UPDATE backfill SET planned = :planned WHERE id = :id")

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

DAG_OF = text("SELECT dag_id FROM backfill WHERE id = :id")

SET_PAUSED = text("UPDATE backfill SET paused = :paused WHERE id = :id")

CANCEL = text("UPDATE backfill SET cancelled_at = now(), paused = false WHERE id = :id")

HOLD = text("""
    SELECT backfill.id, dag.dag_id, backfill.paused, dag.paused AS dag_paused, dag.active
      FROM backfill
      JOIN dag USING (dag_id)
     WHERE backfill.id = :id
""")

LOCK_RUNS = text("""
    SELECT id FROM dag_run
     WHERE backfill_id = :id AND state IN ('queued', 'running')
     ORDER BY id
       FOR NO KEY UPDATE
""")

# Runs that have not begun are as if they had never been: their intervals are free again, and the
# DAG is planned again.  The schedule does not come back to those that it has gone past: what
# becomes of each is recorded.
DROP = text("""
    WITH gone AS (
        DELETE FROM dag_run AS run
         WHERE id = ANY (:runs) AND state = 'queued' AND run_type = 'backfill'
           AND NOT EXISTS (SELECT FROM task_instance WHERE dag_run_id = run.id)
     RETURNING id, dag_id, run_after
    ), due AS (
        UPDATE dag SET next_run_after = least(next_run_after, its.run_after)
          FROM (SELECT dag_id, min(run_after) AS run_after FROM gone GROUP BY dag_id) AS its
         WHERE dag.dag_id = its.dag_id
    ), unwoken AS (
        DELETE FROM wake WHERE dag_run_id IN (SELECT id FROM gone)
    ), fewer AS (
        UPDATE backfill SET planned = planned - (SELECT count(*) FROM gone) WHERE id = :id
    ), passed AS (
        INSERT INTO passed_interval (dag_id, schedule_date, first_start, interval_start,
                                     interval_end, reason)
        SELECT backfill.dag_id, it.schedule_date, it.interval_start, it.interval_start,
               it.interval_end, 'backfill'
          FROM backfill_date AS it
          JOIN backfill ON backfill.id = it.backfill_id
         WHERE it.dag_run_id IN (SELECT id FROM gone) AND it.fate = 'create'
           AND it.schedule_date < greatest(
               (SELECT max(schedule_date) FROM dag_run
                 WHERE dag_run.dag_id = backfill.dag_id AND run_type = 'scheduled'),
               (SELECT max(schedule_date) FROM passed_interval
                 WHERE passed_interval.dag_id = backfill.dag_id))
           AND NOT EXISTS (
               SELECT FROM passed_interval AS known
                WHERE known.dag_id = backfill.dag_id AND known.first_start <= it.interval_start
                  AND known.interval_start >= it.interval_start)
            ON CONFLICT DO NOTHING
     RETURNING schedule_date
    )
    SELECT id, (SELECT count(*) FROM passed) AS passed FROM gone
""")

NAMES = text("SELECT run_id FROM dag_run WHERE id = ANY (:runs) ORDER BY id")

# A task with depends_on_past may have waited for a run that is gone, or in another backfill now.
WAKE_RUNNING = text("""
    INSERT INTO wake (dag_run_id)
    SELECT id FROM dag_run WHERE dag_id = :dag_id AND state = 'running'
""")

UNFINISHED = text("""
    SELECT id FROM dag_run
     WHERE backfill_id = :id AND state IN ('queued', 'running')
     ORDER BY run_after, id
""")


@dataclass(frozen=True, slots=True)
class BackfillProgress:
    """How far a backfill has come: its runs, and the task instances of these."""

    id: int
    dag_id: str
    from_date: datetime
    to_date: datetime
    max_active_runs: int
    planned: int
    created_at: datetime
    reprocess: str
    direction: str
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
    def state(self) -> str:
        """What to call it; of one that has ended, failed when a run has failed.

        One is empty whose runs are all deleted, or in a later backfill by now.
        """
        if self.cancelled_at is not None:
            return "cancelled" if self.finished else "cancelling"
        if not self.finished:
            return "paused" if self.paused else "running"
        if not self.planned:
            return "empty"
        return "failed" if self.failed else "success"


@dataclass(frozen=True, slots=True)
class Hold:
    """What may keep a backfill from starting any run."""

    id: int
    dag_id: str
    paused: bool
    dag_paused: bool
    active: bool

    @property
    def why(self) -> str | None:
        """Say why it starts nothing, and what to do; None when it does."""
        if not self.active:
            return (
                f"DAG {self.dag_id} is in no DAG file any more: the backfill waits until it is, or "
                f"`headway backfill cancel {self.id} --yes` ends it."
            )
        if self.dag_paused:
            return (
                f"DAG {self.dag_id} is paused: the backfill starts nothing until "
                f"`headway dags unpause {self.dag_id}`."
            )
        if self.paused:
            return (
                f"Backfill {self.id} is paused: it starts nothing until "
                f"`headway backfill resume {self.id}`."
            )
        return None


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many runs a cancelled backfill has lost, and which are `left` to be ended.

    The schedule has gone past so many intervals of those that are lost.
    """

    runs: int
    passed: int
    left: Sequence[str]


def set_planned(conn: Connection, backfill_id: int, planned: int) -> None:
    """Store how many runs the backfill has."""
    conn.execute(SET_PLANNED, {"id": backfill_id, "planned": planned})


def dag_of(conn: Connection, backfill_id: int) -> str | None:
    """Return the DAG of a backfill; None when there is no such backfill."""
    dag_id: str | None = conn.scalar(DAG_OF, {"id": backfill_id})
    return dag_id


def hold(conn: Connection, backfill_id: int) -> Hold | None:
    """Return what may keep a backfill from starting runs; None when there is no such backfill."""
    row = conn.execute(HOLD, {"id": backfill_id}).one_or_none()
    return None if row is None else Hold(*row)


def set_paused(conn: Connection, backfill_id: int, *, paused: bool) -> None:
    """Have a locked backfill start no more runs, or go on."""
    conn.execute(SET_PAUSED, {"id": backfill_id, "paused": paused})


def cancel(conn: Connection, backfill_id: int) -> Dropped:
    """Drop what a locked backfill has not begun; its DAG is locked too.

    The runs that are left are locked.
    """
    conn.execute(CANCEL, {"id": backfill_id})
    runs = list(conn.scalars(LOCK_RUNS, {"id": backfill_id}))
    gone = {row.id: row.passed for row in conn.execute(DROP, {"id": backfill_id, "runs": runs})}
    left = list(conn.scalars(NAMES, {"runs": [run for run in runs if run not in gone]}))
    return Dropped(len(gone), max(gone.values(), default=0), left)


def wake_running(conn: Connection, dag_id: str) -> None:
    """Have the running runs of a DAG looked at, when some are not before them any more."""
    conn.execute(WAKE_RUNNING, {"dag_id": dag_id})


def unfinished(conn: Connection, backfill_id: int) -> list[int]:
    """Return the runs of a backfill that have not ended, oldest first."""
    return list(conn.scalars(UNFINISHED, {"id": backfill_id}))


def progress(conn: Connection, backfill_id: int | None = None) -> list[BackfillProgress]:
    """Return how far that backfill, or every one, has come."""
    wanted = {"id": backfill_id, "dag_id": None, "limit": None, "counted": True}
    return [BackfillProgress(*row) for row in conn.execute(PROGRESS, wanted)]


def latest(conn: Connection, most: int, dag_id: str | None = None) -> list[BackfillProgress]:
    """Return how far the latest backfills, or those of a DAG, have come, up to so many.

    Their tasks are not counted, which takes long.
    """
    wanted = {"id": None, "dag_id": dag_id, "limit": most, "counted": False}
    return [BackfillProgress(*row) for row in conn.execute(PROGRESS, wanted)]
