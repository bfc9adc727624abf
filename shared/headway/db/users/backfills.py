"""SQL on backfills: a range of intervals that a user asked to be run."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

SET_PLANNED = text("UPDATE backfill SET planned = :planned WHERE id = :id")


DAG_OF = text("SELECT dag_id FROM backfill WHERE id = :id")


SET_PAUSED = text("UPDATE backfill SET paused = :paused WHERE id = :id")


CANCEL = text("UPDATE backfill SET cancelled_at = now(), paused = false WHERE id = :id")


LOCK_RUNS = text("""
    SELECT id FROM dag_run
     WHERE backfill_id = :id AND state IN ('queued', 'running')
     ORDER BY id
       FOR NO KEY UPDATE
""")


# Runs that have not begun are as if they had never been: their intervals are free again, and the
# DAG is planned again.  The schedule does not come back to those that it has skipped: what
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
    ), skipped AS (
        INSERT INTO skipped_interval (dag_id, schedule_date, first_start, interval_start,
                                     interval_end, reason)
        SELECT backfill.dag_id, it.schedule_date, it.interval_start, it.interval_start,
               it.interval_end, 'backfill'
          FROM backfill_date AS it
          JOIN backfill ON backfill.id = it.backfill_id
         WHERE it.dag_run_id IN (SELECT id FROM gone) AND it.decision = 'create'
           AND it.schedule_date < greatest(
               (SELECT max(schedule_date) FROM dag_run
                 WHERE dag_run.dag_id = backfill.dag_id AND run_type = 'scheduled'),
               (SELECT max(schedule_date) FROM skipped_interval
                 WHERE skipped_interval.dag_id = backfill.dag_id))
           AND NOT EXISTS (
               SELECT FROM skipped_interval AS known
                WHERE known.dag_id = backfill.dag_id AND known.first_start <= it.interval_start
                  AND known.interval_start >= it.interval_start)
            ON CONFLICT DO NOTHING
     RETURNING schedule_date
    )
    SELECT id, (SELECT count(*) FROM skipped) AS skipped FROM gone
""")


NAMES = text("SELECT run_id FROM dag_run WHERE id = ANY (:runs) ORDER BY id")


# A task with depends_on_past may have waited for a run that is gone, or in another backfill now.
WAKE_RUNNING = text("""
    INSERT INTO wake (dag_run_id)
    SELECT id FROM dag_run WHERE dag_id = :dag_id AND state = 'running'
""")


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many runs a cancelled backfill has lost, and which are `left` to be ended.

    The schedule skipped so many intervals of those that are lost.
    """

    runs: int
    skipped: int
    left: Sequence[str]


def set_planned(conn: Connection, backfill_id: int, planned: int) -> None:
    """Store how many runs the backfill has."""
    conn.execute(SET_PLANNED, {"id": backfill_id, "planned": planned})


def dag_of(conn: Connection, backfill_id: int) -> str | None:
    """Return the DAG of a backfill; None when there is no such backfill."""
    dag_id: str | None = conn.scalar(DAG_OF, {"id": backfill_id})
    return dag_id


def set_paused(conn: Connection, backfill_id: int, *, paused: bool) -> None:
    """Have a locked backfill start no more runs, or go on."""
    conn.execute(SET_PAUSED, {"id": backfill_id, "paused": paused})


def cancel(conn: Connection, backfill_id: int) -> Dropped:
    """Drop what a locked backfill has not begun; its DAG is locked too.

    The runs that are left are locked.
    """
    conn.execute(CANCEL, {"id": backfill_id})
    runs = list(conn.scalars(LOCK_RUNS, {"id": backfill_id}))
    gone = {row.id: row.skipped for row in conn.execute(DROP, {"id": backfill_id, "runs": runs})}
    left = list(conn.scalars(NAMES, {"runs": [run for run in runs if run not in gone]}))
    return Dropped(len(gone), max(gone.values(), default=0), left)


def wake_running(conn: Connection, dag_id: str) -> None:
    """Have the running runs of a DAG looked at, when some are not before them any more."""
    conn.execute(WAKE_RUNNING, {"dag_id": dag_id})
