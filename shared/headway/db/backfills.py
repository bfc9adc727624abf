"""SQL on backfills: a range of intervals that a user asked to be run."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

CREATE = text("""
    INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned)
    VALUES (:dag_id, :from_date, :to_date, :max_active_runs, 0)
 RETURNING id
""")

SET_PLANNED = text("UPDATE backfill SET planned = :planned WHERE id = :id")

PROGRESS = text("""
    SELECT backfill.id, backfill.dag_id, backfill.from_date, backfill.to_date,
           backfill.max_active_runs, backfill.planned, backfill.created_at,
           run.queued, run.running, run.succeeded, run.failed,
           task.total AS tasks, task.ended AS tasks_ended,
           task.succeeded AS tasks_succeeded, task.skipped AS tasks_skipped,
           task.failed AS tasks_failed
      FROM backfill
     CROSS JOIN LATERAL (
           SELECT count(*) FILTER (WHERE state = 'queued') AS queued,
                  count(*) FILTER (WHERE state = 'running') AS running,
                  count(*) FILTER (WHERE state = 'success') AS succeeded,
                  count(*) FILTER (WHERE state = 'failed') AS failed
             FROM dag_run WHERE backfill_id = backfill.id) AS run
     CROSS JOIN LATERAL (
           SELECT CAST(coalesce(sum(version_tasks.tasks), 0) AS bigint) AS total,
                  CAST(coalesce(sum(ended), 0) AS bigint) AS ended,
                  CAST(coalesce(sum(succeeded), 0) AS bigint) AS succeeded,
                  CAST(coalesce(sum(skipped), 0) AS bigint) AS skipped,
                  CAST(coalesce(sum(failed), 0) AS bigint) AS failed
             FROM dag_run
            CROSS JOIN LATERAL (SELECT count(*) AS tasks FROM dag_task
                                 WHERE version_id = dag_run.version_id) AS version_tasks
            CROSS JOIN LATERAL (
                  SELECT count(*) FILTER (WHERE state IN ('success', 'skipped', 'failed',
                                                          'upstream_failed', 'removed')) AS ended,
                         count(*) FILTER (WHERE state = 'success') AS succeeded,
                         count(*) FILTER (WHERE state = 'skipped') AS skipped,
                         count(*) FILTER (WHERE state IN ('failed', 'upstream_failed')) AS failed
                    FROM task_instance WHERE dag_run_id = dag_run.id) AS instance
            WHERE backfill_id = backfill.id) AS task
     WHERE CAST(:id AS bigint) IS NULL OR backfill.id = :id
     ORDER BY backfill.id
""")

UNFINISHED = text("""
    SELECT id FROM dag_run
     WHERE backfill_id = :id AND state IN ('queued', 'running')
     ORDER BY run_after, id
""")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a backfill has come: its runs, and the task instances of these."""

    id: int
    dag_id: str
    from_date: datetime
    to_date: datetime
    max_active_runs: int
    planned: int
    created_at: datetime
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
        """Whether every run has ended."""
        return self.succeeded + self.failed >= self.planned

    @property
    def state(self) -> str:
        """What to call it: running, success, or failed when a run has failed."""
        if not self.finished:
            return "running"
        return "failed" if self.failed else "success"


def create(
    conn: Connection, dag_id: str, from_date: datetime, to_date: datetime, max_active_runs: int
) -> int:
    """Enter a backfill and return its id; its runs are created in the same transaction."""
    backfill_id: int = conn.execute(
        CREATE,
        {
            "dag_id": dag_id,
            "from_date": from_date,
            "to_date": to_date,
            "max_active_runs": max_active_runs,
        },
    ).scalar_one()
    return backfill_id


def set_planned(conn: Connection, backfill_id: int, planned: int) -> None:
    """Store how many runs the backfill has."""
    conn.execute(SET_PLANNED, {"id": backfill_id, "planned": planned})


def unfinished(conn: Connection, backfill_id: int) -> list[int]:
    """Return the runs of a backfill that have not ended, oldest first."""
    return list(conn.scalars(UNFINISHED, {"id": backfill_id}))


def progress(conn: Connection, backfill_id: int | None = None) -> list[Progress]:
    """Return how far that backfill, or every one, has come."""
    return [Progress(*row) for row in conn.execute(PROGRESS, {"id": backfill_id})]
