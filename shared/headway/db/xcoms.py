"""SQL on XComs: values that tasks of a run leave for each other, kept by attempt."""

from json import dumps

from sqlalchemy import Connection, text

from headway.db.attempts import AttemptKey
from headway.domain.arguments import JsonValue

# Only the attempt that holds the token may write.
PUSH = text("""
    INSERT INTO xcom (task_instance_id, attempt, key, value)
    SELECT task_instance_id, attempt, :key, CAST(:value AS json)
      FROM task_attempt
     WHERE task_instance_id = :task_id AND attempt = :attempt AND token = :token
       AND phase = 'running'
        ON CONFLICT (task_instance_id, attempt, key) DO UPDATE SET value = excluded.value
""")

# Readers see the values of the last attempt alone.
PULL = text("""
    SELECT xcom.value
      FROM task_instance AS task
      JOIN xcom ON (xcom.task_instance_id, xcom.attempt) = (task.id, task.attempt)
     WHERE task.dag_run_id = :run AND task.task_id = :task_id AND xcom.key = :key
     ORDER BY task.map_index
     LIMIT 1
""")


def push(conn: Connection, key: AttemptKey, name: str, value: JsonValue) -> bool:
    """Leave a value under `name`; False when the attempt is no longer the writer's."""
    pushed = conn.execute(
        PUSH,
        {
            "task_id": key.task_instance_id,
            "attempt": key.attempt,
            "token": str(key.token),
            "key": name,
            "value": dumps(value),
        },
    )
    return pushed.rowcount > 0


def pull(conn: Connection, dag_run_id: int, task_id: str, name: str) -> tuple[JsonValue] | None:
    """Return the value in a tuple, or None when that task has left none under that name."""
    row = conn.execute(PULL, {"run": dag_run_id, "task_id": task_id, "key": name}).one_or_none()
    return None if row is None else (row.value,)
