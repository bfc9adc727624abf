"""SQL on what has expired in the state stores of tasks."""

from sqlalchemy import Connection, text

LIMIT = 1000
"""Values that are removed at a time."""

DELETE = text("""
    WITH expired AS MATERIALIZED (
        SELECT dag_run_id, task_id, map_index, key
          FROM task_state_store
         WHERE expires_at < now()
         ORDER BY expires_at
         LIMIT :limit
           FOR UPDATE SKIP LOCKED
    )
    DELETE FROM task_state_store AS kept
     USING expired
     WHERE kept.dag_run_id = expired.dag_run_id AND kept.task_id = expired.task_id
       AND kept.map_index = expired.map_index AND kept.key = expired.key
""")


def delete(conn: Connection) -> int:
    """Remove values that have expired, but those that another transaction has; return how many."""
    return conn.execute(DELETE, {"limit": LIMIT}).rowcount
