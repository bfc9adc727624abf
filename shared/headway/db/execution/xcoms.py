"""SQL on XComs: values that tasks of a run leave for each other, kept by attempt.

Readers see the values of the last attempt alone.  Of a mapped task, lists and lengths
are about the instances that have succeeded.
"""

from dataclasses import dataclass
from json import dumps
from typing import Final

from sqlalchemy import Connection, text

from headway.db.core.attempt_keys import AttemptKey
from headway.domain.arguments import JsonValue
from headway.domain.xcoms import length_of

# Only the attempt that holds the token may write.
PUSH = text("""
    INSERT INTO xcom (task_instance_id, attempt, key, value, length)
    SELECT task_instance_id, attempt, :key, CAST(:value AS json), CAST(:length AS int)
      FROM task_attempt
     WHERE task_instance_id = :task_id AND attempt = :attempt AND token = :token
       AND phase IN ('running', 'stopping')
        ON CONFLICT (task_instance_id, attempt, key)
        DO UPDATE SET value = excluded.value, length = excluded.length
""")


PULL = text("""
    SELECT xcom.value
      FROM task_instance AS task
      JOIN xcom ON (xcom.task_instance_id, xcom.attempt) = (task.id, task.attempt)
     WHERE task.dag_run_id = :run AND task.map_index = :map_index AND task.task_id = :task_id
       AND xcom.key = :key
""")


PULL_PAGE = text("""
    WITH page AS MATERIALIZED (
        SELECT task.map_index, task.id, task.attempt,
               octet_length(CAST(xcom.value AS text)) AS bytes
          FROM task_instance AS task
          JOIN xcom ON (xcom.task_instance_id, xcom.attempt) = (task.id, task.attempt)
         WHERE task.dag_run_id = :run AND task.map_index > :after
           AND task.task_id = :task_id AND task.state = 'success' AND xcom.key = :key
         ORDER BY task.map_index
         LIMIT :rows
    ), measured AS (
        SELECT page.*, sum(bytes) OVER (ORDER BY map_index) - bytes AS bytes_before FROM page
    )
    SELECT measured.map_index, xcom.value
      FROM measured
      JOIN xcom ON (xcom.task_instance_id, xcom.attempt) = (measured.id, measured.attempt)
     WHERE xcom.key = :key AND measured.bytes_before < :bytes
     ORDER BY measured.map_index
""")


SOURCE = text("""
    SELECT reader.rank, task.id, task.attempt
      FROM task_attempt AS reader
      LEFT JOIN task_instance AS task
        ON task.dag_run_id = :run AND task.map_index = -1 AND task.task_id = :task_id
     WHERE reader.task_instance_id = :reader AND reader.attempt = :reader_attempt
""")


PULL_FROM = text("""
    SELECT value FROM xcom
     WHERE task_instance_id = :task_instance_id AND attempt = :attempt AND key = :key
""")


# LATERAL with a LIMIT, here and below, has the planner look XComs up by their key: the
# XComs of other runs are not to be read, however many instances there are.
PUSHED = text("""
    SELECT task.map_index
      FROM task_instance AS task
     CROSS JOIN LATERAL (
        SELECT FROM xcom
         WHERE (task_instance_id, attempt, key) = (task.id, task.attempt, :key)
         LIMIT 1
      ) AS it
     WHERE task.dag_run_id = :run AND task.map_index >= 0 AND task.task_id = :task_id
       AND task.state = 'success'
     ORDER BY task.map_index
""")


MOST_ROWS: Final = 1_000
"""Instances of a mapped task that one page tells of."""


MOST_BYTES: Final = 512 * 1024
"""Bytes after which a page is full; the value that reaches them is still in it."""


@dataclass(frozen=True, slots=True)
class XComSource:
    """Where a task that is expanded finds its items, at this moment.

    `winner` is the last attempt of an upstream task that is not mapped.  `rank` is the
    reader's place in the queue: what a mapped upstream has left may have changed since
    another instance read it when this one differs, and only then.
    """

    rank: float
    winner: tuple[int, int] | None


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
            "length": length_of(value),
        },
    )
    return pushed.rowcount > 0


def pull(
    conn: Connection, dag_run_id: int, task_id: str, name: str, map_index: int = -1
) -> tuple[JsonValue] | None:
    """Return the value in a tuple, or None when that task has left none under that name.

    `map_index` is that of an instance of a mapped task, -1 for any other task.
    """
    row = conn.execute(
        PULL, {"run": dag_run_id, "task_id": task_id, "key": name, "map_index": map_index}
    ).one_or_none()
    return None if row is None else (row.value,)


def pull_page(
    conn: Connection, dag_run_id: int, task_id: str, name: str, after: int
) -> dict[int, JsonValue]:
    """Return values of a mapped task by map_index, the next after `after`; none at the end."""
    page = conn.execute(
        PULL_PAGE,
        {
            "run": dag_run_id,
            "task_id": task_id,
            "key": name,
            "after": max(after, -1),
            "rows": MOST_ROWS,
            "bytes": MOST_BYTES,
        },
    )
    return {row.map_index: row.value for row in page}


def source(conn: Connection, reader: AttemptKey, dag_run_id: int, task_id: str) -> XComSource:
    """Return where the attempt `reader` finds what the task has left."""
    row = conn.execute(
        SOURCE,
        {
            "reader": reader.task_instance_id,
            "reader_attempt": reader.attempt,
            "run": dag_run_id,
            "task_id": task_id,
        },
    ).one()
    return XComSource(row.rank, None if row.id is None else (row.id, row.attempt))


def pull_from(conn: Connection, winner: tuple[int, int], name: str) -> tuple[JsonValue] | None:
    """Return what this attempt has left under that name, in a tuple, or None."""
    task_instance_id, attempt = winner
    row = conn.execute(
        PULL_FROM, {"task_instance_id": task_instance_id, "attempt": attempt, "key": name}
    ).one_or_none()
    return None if row is None else (row.value,)


def pushed(conn: Connection, dag_run_id: int, task_id: str, name: str) -> list[int]:
    """Return the map_index of each instance that has succeeded and left something, in order."""
    found = conn.scalars(PUSHED, {"run": dag_run_id, "task_id": task_id, "key": name})
    return list(found)
