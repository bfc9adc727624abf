"""The floor: bulk SQL by hand that makes the same moves of task instances, and decides nothing.

The same tables, indexes, triggers and roles; the statements know beforehand which
task instances come next, and each batch is as large as the shape allows.
"""

import time
from collections.abc import Sequence
from typing import Final
from uuid import uuid4

import psycopg2
from sqlalchemy import text
from sqlalchemy.engine import make_url

from benchmarks.support.server import Database
from benchmarks.support.shapes import Shape, enter_runs
from headway.db.access.logins import Login
from headway.db.core import identity, processes

_START: Final = text("""
    UPDATE dag_run SET state = 'running', started_at = now() WHERE state = 'queued' RETURNING id
""")

_INSERT: Final = """
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, pool, pool_slots, queue, priority,
                               up_total)
    SELECT run.id, run.dag_id, task.task_id, task.pool, task.pool_slots, task.queue, task.priority,
           task.upstreams
      FROM dag_run AS run
      JOIN dag_task AS task ON task.version_id = run.version_id
     WHERE run.id = ANY (%(runs)s)
     ORDER BY run.id, task.position
 RETURNING id, task_id
"""

_SCHEDULE: Final = """
    UPDATE task_instance SET state = 'scheduled', rank = extract(epoch FROM now())
     WHERE id = ANY (%(ids)s) AND state = 'none'
"""

_LOCK_POOL: Final = """
    SELECT slots FROM pool WHERE name = 'default_pool' FOR NO KEY UPDATE SKIP LOCKED
"""

_COUNT: Final = """
    SELECT sum(pool_slots) FROM task_attempt WHERE pool = 'default_pool' AND ended_at IS NULL
"""

_QUEUE: Final = """
    WITH queued AS (
        UPDATE task_instance SET state = 'queued', attempt = attempt + 1
         WHERE id = ANY (%(ids)s) AND state = 'scheduled'
     RETURNING id, attempt, dag_id, pool, pool_slots, queue, rank
    )
    INSERT INTO task_attempt (task_instance_id, attempt, dag_id, pool, pool_slots, queue, rank,
                              queued_at)
    SELECT id, attempt, dag_id, pool, pool_slots, queue, rank, now() FROM queued
"""

_LOCK_QUEUED: Final = """
    SELECT task_instance_id, attempt
      FROM task_attempt
     WHERE phase = 'queued' AND queue = 'default'
     ORDER BY rank, task_instance_id
     LIMIT %(limit)s
       FOR NO KEY UPDATE SKIP LOCKED
"""

_CLAIM: Final = """
    WITH mine AS MATERIALIZED (
        SELECT * FROM unnest(%(ids)s::bigint[], %(attempts)s::int[], %(tokens)s::uuid[])
                   AS mine (task_instance_id, attempt, token)
    ), claimed AS (
        UPDATE task_attempt AS it
           SET phase = 'running', token = mine.token, process_id = %(process)s,
               started_at = now(), claimed_until = now() + interval '1 minute'
          FROM mine
         WHERE (it.task_instance_id, it.attempt) = (mine.task_instance_id, mine.attempt)
           AND it.phase = 'queued'
     RETURNING it.task_instance_id, it.attempt
    )
    UPDATE task_instance AS task
       SET state = 'running', started_at = now(), process_id = %(process)s
      FROM claimed
     WHERE task.id = claimed.task_instance_id AND task.attempt = claimed.attempt
       AND task.state = 'queued'
"""

_SUCCEED: Final = """
    WITH report AS MATERIALIZED (
        SELECT * FROM unnest(%(ids)s::bigint[], %(attempts)s::int[], %(tokens)s::uuid[])
                   AS report (task_instance_id, attempt, token)
    ), ended AS (
        UPDATE task_attempt AS it SET phase = 'ended', ended_at = now(), outcome = 'success'
          FROM report
         WHERE (it.task_instance_id, it.attempt) = (report.task_instance_id, report.attempt)
           AND it.token = report.token AND it.phase = 'running'
     RETURNING it.task_instance_id, it.attempt
    )
    UPDATE task_instance AS task SET state = 'success', ended_at = now()
      FROM ended
     WHERE task.id = ended.task_instance_id AND task.attempt = ended.attempt
       AND task.state = 'running'
"""


class Floor:
    """The loop over one shape, on a database that no service works on."""

    def __init__(self, database: Database, shape: Shape, dags: dict[str, int]) -> None:
        self._database, self._shape, self._dags = database, shape, dags
        self._hour = 0
        with database.owner.begin() as conn:
            me = processes.register(conn, "worker", ("floor", 1), "floor")
        self._process = me.id
        self._scheduler = _connect(database.urls[Login.SCHEDULER])
        self._worker = _connect(database.urls[Login.WORKER], identity.option(me))

    def seconds(self) -> float:
        """Take new runs of the shape through all their moves; return how long that took."""
        hours = range(self._hour, self._hour + self._shape.runs)
        self._hour += self._shape.runs
        with self._database.owner.begin() as conn:
            enter_runs(conn, self._dags, hours)
            runs = list(conn.scalars(_START))
        started = time.perf_counter()
        for ids in self._levels(runs):
            self._queue(ids)
            self._run(len(ids))
        return time.perf_counter() - started

    def close(self) -> None:
        """Disconnect."""
        self._scheduler.close()
        self._worker.close()

    def _levels(self, runs: Sequence[int]) -> list[list[int]]:
        """Enter the task instances; return them in the batches in which they may run."""
        with self._scheduler, self._scheduler.cursor() as cursor:
            cursor.execute(_INSERT, {"runs": list(runs)})
            rows = cursor.fetchall()
        if not self._shape.chained:
            return [[row[0] for row in rows]]
        levels: dict[str, list[int]] = {}
        for task_instance_id, task_id in rows:
            levels.setdefault(task_id, []).append(task_instance_id)
        return [levels[task_id] for task_id in sorted(levels)]

    def _queue(self, ids: list[int]) -> None:
        with self._scheduler, self._scheduler.cursor() as cursor:
            cursor.execute(_SCHEDULE, {"ids": ids})
        with self._scheduler, self._scheduler.cursor() as cursor:
            cursor.execute(_LOCK_POOL)
            cursor.execute(_COUNT)
            cursor.execute(_QUEUE, {"ids": ids})

    def _run(self, count: int) -> None:
        with self._worker, self._worker.cursor() as cursor:
            cursor.execute(_LOCK_QUEUED, {"limit": count})
            rows = cursor.fetchall()
            assert len(rows) == count
            mine = {
                "ids": [row[0] for row in rows],
                "attempts": [row[1] for row in rows],
                "tokens": [str(uuid4()) for _ in rows],
                "process": self._process,
            }
            cursor.execute(_CLAIM, mine)
            assert cursor.rowcount == count
        with self._worker, self._worker.cursor() as cursor:
            cursor.execute(_SUCCEED, mine)
            assert cursor.rowcount == count


def _connect(url: str, options: str = "") -> "psycopg2.extensions.connection":
    address = make_url(url).set(drivername="postgresql")
    return psycopg2.connect(address.render_as_string(hide_password=False), options=options)
