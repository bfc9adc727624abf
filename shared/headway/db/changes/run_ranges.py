"""SQL that locks the runs of a DAG, by their logical dates or by name, and counts their tasks."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, text

from headway.db.changes.run_changes import LockedRun, locked

# Before the runs are locked: backfills come first in the order of locks.
LOCK_BACKFILLS = text("""
    SELECT id
      FROM backfill
     WHERE id = ANY (ARRAY(
           SELECT DISTINCT backfill_id
             FROM (SELECT backfill_id,
                          CASE WHEN run_type = 'manual' THEN schedule_date
                               ELSE interval_start END AS logical_date
                     FROM dag_run
                    WHERE dag_id = :dag_id AND backfill_id IS NOT NULL) AS its
            WHERE (CAST(:first AS timestamptz) IS NULL OR logical_date >= :first)
              AND (CAST(:end AS timestamptz) IS NULL OR logical_date < :end)))
     ORDER BY id
       FOR NO KEY UPDATE
""")

LOCK_RUNS = text("""
    SELECT id, dag_id, run_id, state, version_id, pinned
      FROM dag_run
     WHERE dag_id = :dag_id
       AND (CAST(:first AS timestamptz) IS NULL
            OR :first <= CASE WHEN run_type = 'manual' THEN schedule_date ELSE interval_start END)
       AND (CAST(:end AS timestamptz) IS NULL
            OR :end > CASE WHEN run_type = 'manual' THEN schedule_date ELSE interval_start END)
     ORDER BY id
     LIMIT :limit
       FOR NO KEY UPDATE
""")

LOCK_NAMED_BACKFILLS = text("""
    SELECT id
      FROM backfill
     WHERE id = ANY (ARRAY(
           SELECT DISTINCT backfill_id
             FROM dag_run
            WHERE dag_id = :dag_id AND run_id = ANY (:run_ids) AND backfill_id IS NOT NULL))
     ORDER BY id
       FOR NO KEY UPDATE
""")

LOCK_NAMED = text("""
    SELECT id, dag_id, run_id, state, version_id, pinned
      FROM dag_run
     WHERE dag_id = :dag_id AND run_id = ANY (:run_ids)
     ORDER BY id
       FOR NO KEY UPDATE
""")

COUNT_TASKS = text("""
    SELECT count(*)
      FROM (SELECT FROM task_instance
             WHERE dag_run_id = ANY (:runs)
               AND (CAST(:tasks AS text[]) IS NULL OR task_id = ANY (:tasks))
             LIMIT :limit) AS counted
""")


def lock_between(
    conn: Connection,
    dag_id: str,
    dates: tuple[datetime | None, datetime | None],
    limit: int,
) -> list[LockedRun]:
    """Lock up to `limit` runs of the DAG, with their backfills, waiting for whoever has them.

    Their logical dates begin with the first of `dates`, and are before the second one.
    """
    first, end = dates
    asked = {"dag_id": dag_id, "first": first, "end": end}
    conn.execute(LOCK_BACKFILLS, asked)
    return [locked(row) for row in conn.execute(LOCK_RUNS, {**asked, "limit": limit})]


def lock_named(conn: Connection, dag_id: str, run_ids: Sequence[str]) -> list[LockedRun]:
    """Lock the runs of the DAG with these names, with their backfills, the oldest one first."""
    asked = {"dag_id": dag_id, "run_ids": list(run_ids)}
    its: frozenset[int] | None = None
    # While one is waited for, a later one may take a run: then that is locked too.
    while (now := frozenset(conn.scalars(LOCK_NAMED_BACKFILLS, asked))) != its:
        its = now
    return [locked(row) for row in conn.execute(LOCK_NAMED, asked)]


def count_instances(
    conn: Connection, runs: Sequence[LockedRun], tasks: Collection[str] | None, limit: int
) -> int:
    """Count the instances of these tasks, or of all, in locked runs, up to `limit`."""
    wanted = None if tasks is None else sorted(tasks)
    asked = {"runs": [run.id for run in runs], "tasks": wanted, "limit": limit}
    found: int = conn.execute(COUNT_TASKS, asked).scalar_one()
    return found
