"""SQL on the shares of backfills: how many slots of a pool each may take."""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from headway.db.core.prepared import hot
from headway.decide.scheduling.admit import Budget, Limit, ReadyTask
from headway.decide.scheduling.share import BackfillShare, slots_for

# A task that takes more slots than are free is not queued for them; that it waits is seen
# here, unless its DAG is paused or full, or no worker serves its queue.  One that a narrower
# limit holds is seen too: rather does a backfill wait than a task of a lower priority class.
SHARES = hot("""
    WITH busy AS MATERIALIZED (
        SELECT dag_id, count(*) AS count FROM task_attempt WHERE ended_at IS NULL GROUP BY dag_id
    ), live AS MATERIALIZED (
        SELECT it.phase, it.pool_slots, task.priority_class,
               (SELECT backfill_id FROM dag_run WHERE id = task.dag_run_id) AS backfill_id
          FROM task_attempt AS it
         CROSS JOIN LATERAL (
               SELECT dag_run_id, priority_class FROM task_instance
                WHERE id = it.task_instance_id LIMIT 1) AS task
         WHERE it.ended_at IS NULL AND it.pool = :pool
    ), outsized AS MATERIALIZED (
        SELECT task.priority_class
          FROM task_instance AS task
          JOIN dag USING (dag_id)
          LEFT JOIN busy USING (dag_id)
         WHERE task.state = 'scheduled' AND task.pool_slots > 1 AND task.pool = :pool
           AND task.priority_class < 2 AND task.pool_slots > :free
           AND task.pool_slots <= (SELECT slots FROM pool WHERE name = :pool)
           AND NOT dag.paused AND dag.max_active_tasks > coalesce(busy.count, 0)
           AND EXISTS (SELECT FROM process
                        WHERE kind = 'worker' AND ended_at IS NULL
                          AND drain_requested_at IS NULL AND task.queue = ANY (queues))
         ORDER BY task.priority_class
         LIMIT 1
    )
    SELECT backfill.id, backfill.weight, backfill.idle_only, pool.slots,
           (SELECT coalesce(sum(pool_slots), 0) FROM live
             WHERE live.backfill_id = backfill.id) AS held,
           EXISTS (SELECT FROM outsized WHERE priority_class < backfill.priority_class) AS outsized,
           EXISTS (SELECT FROM live WHERE phase = 'queued' AND priority_class < 2) AS waits
      FROM backfill, pool
     WHERE backfill.id = ANY (:backfills) AND pool.name = :pool
""")

WEIGHTS = text("""
    SELECT backfill.id, backfill.weight, pool.slots
      FROM backfill, pool
     WHERE backfill.id = ANY (:backfills) AND pool.name = :pool
""")


def free(conn: Connection, pool: str, slots: int, tasks: Sequence[ReadyTask]) -> dict[Budget, int]:
    """Return how many more slots of a pool, with so many free, the tasks' backfills may take.

    The tasks are in queue order.
    """
    first = _first(pool, tasks)
    if not first:
        return {}
    rows = conn.execute(SHARES, {"pool": pool, "free": slots, "backfills": sorted(first)})
    return {
        Budget(Limit.BACKFILL, (pool, row.id)): slots_for(
            BackfillShare(
                row.slots,
                row.weight,
                int(row.held),
                first[row.id],
                row.idle_only,
                row.outsized,
                row.waits,
            )
        )
        for row in rows
    }


def limits(conn: Connection, tasks: Sequence[ReadyTask]) -> dict[Budget, int]:
    """Return how many slots of their pools the backfills of tasks may have in all, by weight."""
    found: dict[Budget, int] = {}
    for pool in {task.pool for task in tasks}:
        for row in conn.execute(WEIGHTS, {"pool": pool, "backfills": sorted(_first(pool, tasks))}):
            found[Budget(Limit.BACKFILL, (pool, row.id))] = slots_for(
                BackfillShare(row.slots, row.weight)
            )
    return found


def _first(pool: str, tasks: Sequence[ReadyTask]) -> dict[int, int]:
    """Return how many slots of the pool the first task of each backfill takes."""
    found: dict[int, int] = {}
    for task in tasks:
        if task.pool == pool and task.priority_class and task.backfill_id is not None:
            found.setdefault(task.backfill_id, task.pool_slots)
    return found
