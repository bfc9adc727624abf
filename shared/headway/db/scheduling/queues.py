"""SQL on queues: which workers serve them, and what is left of their slots."""

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.decide.scheduling.admit import READ_AHEAD, Budget, Limit

# A queue has tasks waiting, so that a slot that falls free is filled at once; more of them would
# only hold the slots of pools for nothing.  Backfills do not read ahead.
FREE = hot("""
    WITH live AS MATERIALIZED (
        SELECT queue, count(*) AS count, count(*) FILTER (WHERE scheduler_id = :scheduler) AS mine
          FROM task_attempt WHERE ended_at IS NULL GROUP BY queue
    ), served AS (
        SELECT queue, sum(slots) AS slots
          FROM process, unnest(queues) AS queue
         WHERE kind = 'worker' AND ended_at IS NULL AND drain_requested_at IS NULL
         GROUP BY queue
    )
    SELECT queue, :ahead * served.slots - coalesce(live.count, 0) AS free,
           served.slots - coalesce(live.count, 0) AS idle,
           (SELECT coalesce(sum(mine), 0) FROM live) AS mine
      FROM served LEFT JOIN live USING (queue)
""")


def free(conn: Connection, scheduler: int, parallelism: int) -> dict[Budget, int]:
    """Return what is left of the queues that workers take from, and of a scheduler's own share.

    Nobody but the scheduler adds to its share.  The queues' budgets are read-ahead and no
    promise, so no lock protects them: a worker never claims more than its slots.
    """
    found: dict[Budget, int] = {}
    for row in conn.execute(FREE, {"scheduler": scheduler, "ahead": READ_AHEAD}):
        found[Budget(Limit.QUEUE, (row.queue,))] = int(row.free)
        found[Budget(Limit.SPARE, (row.queue,))] = int(row.idle)
        found[Budget(Limit.SCHEDULER, ())] = parallelism - int(row.mine)
    return found
