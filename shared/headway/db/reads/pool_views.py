"""Pools as they stand.  Reads only."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

# Few tasks take more than one slot, and these have an index of their own: the others are counted
# in an index alone.
POOLS = text("""
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
class PoolView:
    """A pool, with its slots and how many of them are taken or waited for.

    Queued and running attempts have `queued` and `running` slots, deferred tasks `deferred`, and
    tasks that wait for the pool would have `scheduled`.  With `include_deferred`, deferred tasks
    hold their slots.
    """

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


def pools(conn: Connection) -> list[PoolView]:
    """Return every pool, by name."""
    return [PoolView(**row) for row in conn.execute(POOLS).mappings()]
