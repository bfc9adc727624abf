"""SQL on pools.  Every function takes an open transaction and never commits it."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

NAMES_IN_DEMAND = text("""
    SELECT name
      FROM pool
     WHERE EXISTS (SELECT FROM task_instance
                    WHERE task_instance.pool = pool.name AND state = 'scheduled')
     ORDER BY name
""")

# Locking and counting are two statements on purpose.  Under READ COMMITTED each
# statement has its own snapshot: a single one could take the lock that another
# scheduler has just released and still count as if that one had queued nothing.
LOCK = text("""
    SELECT slots FROM pool WHERE name = :name FOR NO KEY UPDATE SKIP LOCKED
""")

OCCUPIED = text("""
    SELECT coalesce(sum(pool_slots), 0) FROM task_attempt WHERE pool = :name AND ended_at IS NULL
""")

LIST = text("""
    SELECT name, slots, description,
           (SELECT coalesce(sum(pool_slots), 0) FROM task_attempt
             WHERE pool = pool.name AND phase = 'queued') AS queued,
           (SELECT coalesce(sum(pool_slots), 0) FROM task_attempt
             WHERE pool = pool.name AND phase IN ('running', 'stopping')) AS running,
           (SELECT coalesce(sum(pool_slots), 0) FROM task_instance
             WHERE pool = pool.name AND state = 'scheduled') AS scheduled
      FROM pool
     ORDER BY name
""")

SET = text("""
    INSERT INTO pool (name, slots, description)
    VALUES (:name, :slots, :description)
        ON CONFLICT (name) DO UPDATE
       SET slots = excluded.slots, description = excluded.description
""")

DELETE = text("DELETE FROM pool WHERE name = :name")


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool as it stands: its slots, and those taken by attempts or waited for by tasks."""

    name: str
    slots: int
    description: str
    queued: int
    running: int
    scheduled: int

    @property
    def free(self) -> int:
        """Slots that no live attempt occupies; negative after a pool was made smaller."""
        return self.slots - self.queued - self.running


def names_in_demand(conn: Connection) -> list[str]:
    """Return the pools that a scheduled task waits for."""
    return list(conn.scalars(NAMES_IN_DEMAND))


def lock_free_slots(conn: Connection, name: str) -> int | None:
    """Lock the pool and return its free slots; None when another scheduler has it."""
    slots = conn.scalar(LOCK, {"name": name})
    if slots is None:
        return None
    return int(slots) - int(conn.scalar(OCCUPIED, {"name": name}) or 0)


def list_all(conn: Connection) -> list[Pool]:
    """Return every pool with its occupancy, by name."""
    return [Pool(*row) for row in conn.execute(LIST)]


def set_slots(conn: Connection, name: str, slots: int, description: str) -> None:
    """Create the pool, or change it."""
    conn.execute(SET, {"name": name, "slots": slots, "description": description})


def delete(conn: Connection, name: str) -> bool:
    """Delete the pool; False when there is none.  Tasks that name it wait until it is back."""
    return conn.execute(DELETE, {"name": name}).rowcount > 0
