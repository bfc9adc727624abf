"""SQL on what a task instance keeps from attempt to attempt.

Only the attempt that holds the token writes.  It locks its row meanwhile: nobody can end it, and
begin another one, between the look at the token and the write.
"""

from datetime import timedelta
from json import dumps

from sqlalchemy import Connection, text

from headway.db.core import attempt_keys
from headway.db.core.attempt_keys import AttemptKey
from headway.domain.arguments import JsonValue

SET = text("""
    WITH own AS MATERIALIZED (
        SELECT task_instance_id
          FROM task_attempt
         WHERE task_instance_id = :task_id AND attempt = :attempt AND token = :token
           AND phase IN ('running', 'stopping')
           FOR SHARE
    )
    INSERT INTO task_state_store (dag_run_id, task_id, map_index, key, value, expires_at)
    SELECT task.dag_run_id, task.task_id, task.map_index, :key, CAST(:value AS json),
           now() + make_interval(secs => CAST(:seconds AS float8))
      FROM own
      JOIN task_instance AS task ON task.id = own.task_instance_id
        ON CONFLICT (dag_run_id, task_id, map_index, key)
        DO UPDATE SET value = excluded.value, written_at = now(), expires_at = excluded.expires_at
""")

GET = text("""
    SELECT value
      FROM task_state_store
     WHERE dag_run_id = :run AND task_id = :task_id AND map_index = :map_index AND key = :key
       AND (expires_at IS NULL OR expires_at > now())
""")

DELETE = text("""
    WITH own AS MATERIALIZED (
        SELECT task_instance_id
          FROM task_attempt
         WHERE task_instance_id = :task_id AND attempt = :attempt AND token = :token
           AND phase IN ('running', 'stopping')
           FOR SHARE
    ), gone AS (
        DELETE FROM task_state_store AS kept
         USING own
          JOIN task_instance AS task ON task.id = own.task_instance_id
         WHERE (kept.dag_run_id, kept.task_id, kept.map_index)
               = (task.dag_run_id, task.task_id, task.map_index)
           AND (CAST(:key AS text) IS NULL OR kept.key = :key)
    )
    SELECT count(*) FROM own
""")


def put(
    conn: Connection, key: AttemptKey, name: str, value: JsonValue, retention: timedelta | None
) -> bool:
    """Keep a value under `name`, for ever without a `retention`; False if it may not write."""
    written = conn.execute(
        SET,
        {
            **attempt_keys.parameters(key),
            "key": name,
            "value": dumps(value),
            "seconds": None if retention is None else retention.total_seconds(),
        },
    )
    return written.rowcount > 0


def get(
    conn: Connection, dag_run_id: int, instance: tuple[str, int], name: str
) -> tuple[JsonValue] | None:
    """Return what an instance, a task and a map_index, keeps under `name`, in a tuple; or None."""
    task_id, map_index = instance
    row = conn.execute(
        GET, {"run": dag_run_id, "task_id": task_id, "map_index": map_index, "key": name}
    ).one_or_none()
    return None if row is None else (row.value,)


def delete(conn: Connection, key: AttemptKey, name: str | None) -> bool:
    """Forget what is kept under `name`, all if that is None; False if it may not write."""
    return bool(conn.scalar(DELETE, {**attempt_keys.parameters(key), "key": name}))
