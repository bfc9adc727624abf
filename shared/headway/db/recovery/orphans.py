"""SQL on orphans: rows whose run or attempt is no longer there."""

from sqlalchemy import Connection, text

from headway.domain.states import Role, TaskState, sources

LIMIT = 1000
"""Rows that are cleaned up at a time."""

# Each branch reads a small index of live states; history is not looked at.
FAIL_TASKS = text("""
    WITH waiting AS (
        SELECT id, dag_run_id FROM task_instance WHERE state = 'scheduled' AND NOT limited
         UNION ALL
        SELECT id, dag_run_id FROM task_instance WHERE state = 'scheduled' AND limited
         UNION ALL
        SELECT id, dag_run_id FROM task_instance WHERE state = 'up_for_retry'
         UNION ALL
        SELECT id, dag_run_id FROM task_instance WHERE state = 'deferred'
    ), orphan AS MATERIALIZED (
        SELECT id FROM task_instance
         WHERE id IN (SELECT id FROM waiting
                       WHERE NOT EXISTS (SELECT FROM dag_run WHERE id = waiting.dag_run_id))
         ORDER BY id
         LIMIT :limit
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE task_instance AS task
       SET state = 'failed', retry_at = NULL, ended_at = greatest(now(), started_at)
      FROM orphan
     WHERE task.id = orphan.id AND task.state = ANY (:sources)
""")

DELETE_WAKES = text("""
    DELETE FROM wake
     WHERE (SELECT id FROM dag_run WHERE dag_run.id = wake.dag_run_id) IS NULL
""")

DELETE_LEASES = text("""
    DELETE FROM lease
     WHERE (SELECT attempt FROM task_attempt AS it
             WHERE (it.task_instance_id, it.attempt) = (lease.task_instance_id, lease.attempt)
               AND it.ended_at IS NULL) IS NULL
""")


def fail_tasks(conn: Connection) -> int:
    """Fail waiting task instances whose run is gone; return how many."""
    found = sources(TaskState.FAILED, Role.SCHEDULER)
    return conn.execute(FAIL_TASKS, {"limit": LIMIT, "sources": found}).rowcount


def delete(conn: Connection) -> int:
    """Delete wakes of runs and leases of attempts that are gone; return how many."""
    return conn.execute(DELETE_WAKES).rowcount + conn.execute(DELETE_LEASES).rowcount
