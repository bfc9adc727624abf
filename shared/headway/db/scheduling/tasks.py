"""SQL on task instances: their moves up to the queue."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, text

from headway.db.core.prepared import hot
from headway.domain.dag.trigger_rules import Tally
from headway.domain.states import TERMINAL, TaskState

# A task's queue position is the second in which it was scheduled, earlier by what its
# priority is worth.  So it gains on others by waiting, and the order never changes.  Each priority
# class is 30,000 years behind the one before it: no task of a backfill comes before another task.
DECIDE = hot("""
    UPDATE task_instance AS task
       SET state = it.state,
           rank = extract(epoch FROM CAST(:now AS timestamptz))
                  - task.priority * CAST(:aging AS numeric) + task.priority_class * 1e12,
           scheduled_at = CASE it.state WHEN 'scheduled' THEN CAST(:now AS timestamptz) END,
           ended_at = CASE WHEN it.state = ANY (:terminal) THEN CAST(:now AS timestamptz) END
      FROM unnest(CAST(:ids AS bigint[]), CAST(:states AS text[])) AS it (id, state)
     WHERE task.id = it.id AND task.state = 'none'
""")

# A task that is expanded anew goes on counting attempts, so that none is named like an old one.
EXPAND = text("""
    WITH expanded AS (
        UPDATE task_instance AS task
           SET map_index = 0, state = 'scheduled', rendered_map_index = NULL,
               scheduled_at = CAST(:now AS timestamptz),
               rank = extract(epoch FROM CAST(:now AS timestamptz))
                      - task.priority * CAST(:aging AS numeric) + task.priority_class * 1e12
          FROM unnest(CAST(:ids AS bigint[]), CAST(:lengths AS int[])) AS it (id, length)
         WHERE task.id = it.id AND task.state = 'none' AND task.map_index = -1
     RETURNING task.*, it.length
    )
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, map_index, state, attempt, pool,
                               pool_slots, queue, priority, rank, priority_class, limited,
                               scheduled_at)
    SELECT dag_run_id, dag_id, task_id, map_index.map_index, 'scheduled', attempt, pool,
           pool_slots, queue, priority, rank, priority_class, limited, scheduled_at
      FROM expanded
     CROSS JOIN LATERAL generate_series(1, expanded.length - 1) AS map_index (map_index)
""")

# The instances of a task in a mapped group that are still to be decided about, one by one.
GROW = text("""
    WITH grown AS (
        UPDATE task_instance AS task
           SET map_index = 0, rendered_map_index = NULL
          FROM unnest(CAST(:ids AS bigint[]), CAST(:lengths AS int[])) AS it (id, length)
         WHERE task.id = it.id AND task.state = 'none' AND task.map_index = -1
     RETURNING task.*, it.length
    ), made AS (
        INSERT INTO task_instance (dag_run_id, dag_id, task_id, map_index, attempt, pool,
                                   pool_slots, queue, priority, priority_class, limited)
        SELECT dag_run_id, dag_id, task_id, map_index.map_index, attempt, pool,
               pool_slots, queue, priority, priority_class, limited
          FROM grown
         CROSS JOIN LATERAL generate_series(1, grown.length - 1) AS map_index (map_index)
    )
    INSERT INTO wake (dag_run_id) SELECT DISTINCT dag_run_id FROM grown
""")

COUNT = hot("""
    UPDATE task_instance AS task
       SET up_total = it.total, up_success = it.success, up_failed = it.failed,
           up_upstream_failed = it.upstream_failed, up_skipped = it.skipped,
           up_removed = it.removed
      FROM unnest(CAST(:ids AS bigint[]), CAST(:total AS int[]), CAST(:success AS int[]),
                  CAST(:failed AS int[]), CAST(:upstream_failed AS int[]),
                  CAST(:skipped AS int[]), CAST(:removed AS int[]))
           AS it (id, total, success, failed, upstream_failed, skipped, removed)
     WHERE task.id = it.id
""")

RETRY = hot("""
    WITH due AS MATERIALIZED (
        SELECT id
          FROM task_instance
         WHERE state = 'up_for_retry' AND retry_at <= :now
         ORDER BY retry_at, id
         LIMIT :limit
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE task_instance AS task
       SET state = 'scheduled', retry_at = NULL, scheduled_at = CAST(:now AS timestamptz),
           rank = extract(epoch FROM CAST(:now AS timestamptz))
                  - task.priority * CAST(:aging AS numeric) + task.priority_class * 1e12
      FROM due
     WHERE task.id = due.id
""")

QUEUE = hot("""
    WITH queued AS (
        UPDATE task_instance
           SET state = 'queued', attempt = attempt + 1
         WHERE id = ANY (:ids) AND state = 'scheduled'
     RETURNING id, attempt, dag_id, pool, pool_slots, queue, rank
    )
    INSERT INTO task_attempt (task_instance_id, attempt, dag_id, pool, pool_slots, queue,
                              rank, scheduler_id, queued_at)
    SELECT id, attempt, dag_id, pool, pool_slots, queue, rank, :scheduler, :now FROM queued
""")


def decide(
    conn: Connection, moves: Mapping[TaskState, Sequence[int]], now: datetime, aging: float
) -> None:
    """Move undecided task instances of locked runs to the state that was decided for them."""
    pairs = [(task, state) for state, tasks in moves.items() for task in tasks]
    if pairs:
        conn.execute(
            DECIDE,
            {
                "ids": [task for task, _ in pairs],
                "states": [str(state) for _, state in pairs],
                "terminal": sorted(TERMINAL),
                "now": now,
                "aging": aging,
            },
        )


def expand(conn: Connection, lengths: Mapping[int, int], now: datetime, aging: float) -> None:
    """Turn placeholders of mapped tasks into so many scheduled instances each."""
    if lengths:
        parameters = {"ids": list(lengths), "lengths": list(lengths.values())}
        conn.execute(EXPAND, {**parameters, "now": now, "aging": aging})


def grow(conn: Connection, lengths: Mapping[int, int]) -> int:
    """Turn placeholders of tasks in mapped groups into so many undecided instances each.

    Their runs are woken, to be looked at again; return how many.
    """
    if not lengths:
        return 0
    parameters = {"ids": list(lengths), "lengths": list(lengths.values())}
    return conn.execute(GROW, parameters).rowcount


def count(conn: Connection, waiting: Mapping[int, Tally]) -> None:
    """Enter how the upstream of undecided task instances stands."""
    if not waiting:
        return
    tallies = list(waiting.values())
    conn.execute(
        COUNT,
        {
            "ids": list(waiting),
            "total": [tally.total for tally in tallies],
            "success": [tally.success for tally in tallies],
            "failed": [tally.failed for tally in tallies],
            "upstream_failed": [tally.upstream_failed for tally in tallies],
            "skipped": [tally.skipped for tally in tallies],
            "removed": [tally.removed for tally in tallies],
        },
    )


def schedule_retries(conn: Connection, now: datetime, limit: int, aging: float) -> int:
    """Schedule the task instances whose retry is due; return how many."""
    return conn.execute(RETRY, {"now": now, "limit": limit, "aging": aging}).rowcount


def queue(conn: Connection, ids: Sequence[int], now: datetime, scheduler: int) -> None:
    """Queue locked task instances: each gets its next attempt, a charge of that scheduler."""
    conn.execute(QUEUE, {"ids": list(ids), "now": now, "scheduler": scheduler})
