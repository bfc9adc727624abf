"""SQL on task instances: how they stand, and their moves up to the queue."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, text

from headway.decide.admit import ReadyTask
from headway.decide.settle import TaskStanding
from headway.domain.states import TERMINAL, Role, TaskState, sources

STANDINGS = text("""
    SELECT id, dag_run_id, task_id, state, skips
      FROM task_instance
     WHERE dag_run_id = ANY (:runs)
     ORDER BY id
""")

PAST = text("""
    SELECT run.id AS run_id, previous.state AS previous_state, task.task_id, task.state
      FROM dag_run AS run
     CROSS JOIN LATERAL (
           SELECT id, state FROM dag_run
            WHERE dag_id = run.dag_id AND (schedule_date, id) < (run.schedule_date, run.id)
            ORDER BY schedule_date DESC, id DESC
            LIMIT 1) AS previous
      LEFT JOIN task_instance AS task ON task.dag_run_id = previous.id
     WHERE run.id = ANY (:runs)
""")

MOVE = text("""
    UPDATE task_instance
       SET state = :target, ended_at = CASE WHEN :ends THEN CAST(:now AS timestamptz) END
     WHERE id = ANY (:ids) AND state = ANY (:sources)
""")

RETRY = text("""
    WITH due AS MATERIALIZED (
        SELECT id
          FROM task_instance
         WHERE state = 'up_for_retry' AND retry_at <= :now
         ORDER BY retry_at, id
         LIMIT :limit
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE task_instance AS task
       SET state = 'scheduled', retry_at = NULL
      FROM due
     WHERE task.id = due.id
""")

# Every limit is applied before LIMIT: a batch never fills with tasks that cannot start.
CANDIDATES = text("""
    WITH place AS MATERIALIZED (
        SELECT dag_id, max_active_tasks
                       - (SELECT count(*) FROM task_attempt
                           WHERE task_attempt.dag_id = dag.dag_id AND ended_at IS NULL) AS free
          FROM dag
         WHERE NOT paused
           AND dag_id IN (SELECT dag_id FROM task_instance
                           WHERE state = 'scheduled' AND pool = :pool)
    ), ranked AS (
        SELECT task.id, task.priority, place.free,
               row_number() OVER (PARTITION BY task.dag_id
                                  ORDER BY task.priority DESC, task.id) AS rank
          FROM task_instance AS task
          JOIN place USING (dag_id)
         WHERE task.state = 'scheduled' AND task.pool = :pool AND task.pool_slots <= :free_slots
    )
    SELECT id FROM ranked WHERE rank <= free ORDER BY priority DESC, id LIMIT :limit
""")

LOCK_READY = text("""
    SELECT id, dag_id, pool, pool_slots
      FROM task_instance
     WHERE id = ANY (:ids) AND state = 'scheduled'
     ORDER BY priority DESC, id
       FOR NO KEY UPDATE SKIP LOCKED
""")

QUEUE = text("""
    WITH queued AS (
        UPDATE task_instance
           SET state = 'queued', attempt = attempt + 1
         WHERE id = ANY (:ids) AND state = 'scheduled'
     RETURNING id, attempt, dag_id, pool, pool_slots, queue, priority
    )
    INSERT INTO task_attempt (task_instance_id, attempt, dag_id, pool, pool_slots, queue,
                              priority, queued_at)
    SELECT id, attempt, dag_id, pool, pool_slots, queue, priority, :now FROM queued
""")


def standings(conn: Connection, runs: Sequence[int]) -> dict[int, list[TaskStanding]]:
    """Return how the task instances of these runs stand, by run."""
    found: dict[int, list[TaskStanding]] = {run: [] for run in runs}
    for row in conn.execute(STANDINGS, {"runs": list(runs)}):
        standing = TaskStanding(row.id, row.task_id, TaskState(row.state), row.skips)
        found[row.dag_run_id].append(standing)
    return found


def past_standings(
    conn: Connection, runs: Sequence[int]
) -> dict[int, tuple[bool, dict[str, TaskState]]]:
    """Return how the tasks of the run before each of these stand, and whether it has started.

    A run that is the first of its DAG is left out.
    """
    past: dict[int, tuple[bool, dict[str, TaskState]]] = {}
    for row in conn.execute(PAST, {"runs": list(runs)}):
        _, states = past.setdefault(row.run_id, (row.previous_state != "queued", {}))
        if row.task_id is not None:
            states[row.task_id] = TaskState(row.state)
    return past


def move(conn: Connection, moves: Mapping[TaskState, Sequence[int]], now: datetime) -> None:
    """Move task instances of locked runs, as the scheduler may."""
    for target, ids in moves.items():
        conn.execute(
            MOVE,
            {
                "target": str(target),
                "ids": list(ids),
                "sources": sources(target, Role.SCHEDULER),
                "ends": target in TERMINAL,
                "now": now,
            },
        )


def schedule_retries(conn: Connection, now: datetime, limit: int) -> int:
    """Schedule the task instances whose retry is due; return how many."""
    return conn.execute(RETRY, {"now": now, "limit": limit}).rowcount


def lock_ready(conn: Connection, pool: str, free_slots: int, limit: int) -> list[ReadyTask]:
    """Lock scheduled task instances of a locked pool that may fit, the most urgent first."""
    ids = list(conn.scalars(CANDIDATES, {"pool": pool, "free_slots": free_slots, "limit": limit}))
    rows = conn.execute(LOCK_READY, {"ids": ids})
    return [ReadyTask(row.id, row.dag_id, row.pool, row.pool_slots) for row in rows]


def queue(conn: Connection, ids: Sequence[int], now: datetime) -> None:
    """Queue locked task instances: each gets its next attempt."""
    conn.execute(QUEUE, {"ids": list(ids), "now": now})
