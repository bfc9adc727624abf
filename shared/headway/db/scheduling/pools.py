"""SQL that locks pools, and tells their free slots."""

from dataclasses import dataclass

from sqlalchemy import Connection

from headway.db.core.prepared import hot

# Locking and counting are two statements on purpose.  Under READ COMMITTED each
# statement has its own snapshot: a single one could take the lock that another
# scheduler has just released and still count as if that one had queued nothing.
LOCK = hot("""
    SELECT FROM pool WHERE name = :name FOR NO KEY UPDATE SKIP LOCKED
""")


FREE = hot("""
    SELECT name,
           slots
           - (SELECT coalesce(sum(pool_slots), 0) FROM task_attempt
               WHERE pool = pool.name AND ended_at IS NULL)
           - CASE WHEN include_deferred
                  THEN (SELECT coalesce(sum(pool_slots), 0) FROM task_instance
                         WHERE pool = pool.name AND state = 'deferred')
                  ELSE 0 END AS free,
           EXISTS (SELECT FROM task_instance
                    WHERE pool = pool.name AND state = 'scheduled' AND limited) AS limited
      FROM pool
     WHERE name = :name
""")


@dataclass(frozen=True, slots=True)
class LockedPool:
    """A pool that this transaction has locked.

    `limited` tells that tasks wait for it that are under a limit narrower than their DAG's.
    """

    name: str
    free: int
    limited: bool


def lock(conn: Connection, name: str) -> LockedPool | None:
    """Lock the pool and count; None when another scheduler has it, or there is none."""
    if conn.execute(LOCK, {"name": name}).one_or_none() is None:
        return None
    row = conn.execute(FREE, {"name": name}).one()
    return LockedPool(row.name, int(row.free), row.limited)
