"""SQL that locks pools, and tells their free slots."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

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


# Few tasks take more than one slot, and these have an index of their own: the others are counted
# in an index alone.
LIST = text("""
    SELECT name, slots, description, include_deferred,
           (SELECT coalesce(sum(pool_slots), 0) FROM task_attempt
             WHERE pool = pool.name AND ended_at IS NULL AND phase = 'queued') AS queued,
           (SELECT coalesce(sum(pool_slots), 0) FROM task_attempt
             WHERE pool = pool.name AND ended_at IS NULL AND phase <> 'queued') AS running,
           (SELECT count(*) FROM task_instance
             WHERE pool = pool.name AND state = 'scheduled' AND limited)
           + (SELECT count(*) FROM task_instance
               WHERE pool = pool.name AND state = 'scheduled' AND NOT limited)
           + (SELECT coalesce(sum(pool_slots - 1), 0) FROM task_instance
               WHERE pool = pool.name AND state = 'scheduled' AND pool_slots > 1) AS scheduled,
           (SELECT coalesce(sum(pool_slots), 0) FROM task_instance
             WHERE pool = pool.name AND state = 'deferred') AS deferred
      FROM pool
     ORDER BY name
""")


@dataclass(frozen=True, slots=True)
class LockedPool:
    """A pool that this transaction has locked.

    `limited` tells that tasks wait for it that are under a limit narrower than their DAG's.
    """

    name: str
    free: int
    limited: bool


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool as it stands: its slots, and those taken by attempts or waited for by tasks."""

    name: str
    slots: int
    description: str
    include_deferred: bool
    queued: int
    running: int
    scheduled: int
    deferred: int

    @property
    def free(self) -> int:
        """Slots that nothing occupies; negative after a pool was made smaller."""
        occupied = self.queued + self.running + self.deferred * self.include_deferred
        return self.slots - occupied


def lock(conn: Connection, name: str) -> LockedPool | None:
    """Lock the pool and count; None when another scheduler has it, or there is none."""
    if conn.execute(LOCK, {"name": name}).one_or_none() is None:
        return None
    row = conn.execute(FREE, {"name": name}).one()
    return LockedPool(row.name, int(row.free), row.limited)


def list_all(conn: Connection) -> list[Pool]:
    """Return every pool with its occupancy, by name."""
    return [Pool(*row) for row in conn.execute(LIST)]
