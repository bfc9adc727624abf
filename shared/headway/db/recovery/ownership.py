"""SQL on ownership: the live attempts and reserved runs that belong to one process.

A charge whose process has ended, however it did, belongs to nobody.  Nothing here waits:
what is locked by others is passed over, and found again by the next look.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, text

ABANDONED = text("""
    WITH owner AS (
        SELECT scheduler_id AS id FROM task_attempt
         WHERE ended_at IS NULL AND scheduler_id IS NOT NULL
         UNION
        SELECT lock_id FROM dag_run WHERE lock_id IS NOT NULL
    )
    SELECT id FROM owner
     WHERE NOT EXISTS (SELECT FROM process WHERE process.id = owner.id AND ended_at IS NULL)
     ORDER BY id
""")

RELEASE = text("""
    WITH abandoned AS MATERIALIZED (
        SELECT id FROM dag_run WHERE lock_id = ANY (:owners)
         ORDER BY id LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE dag_run AS run SET lock_id = NULL
      FROM abandoned
     WHERE run.id = abandoned.id AND run.lock_id = ANY (:owners)
""")

# The guard is on the row itself: of two adopters the second finds the charge the first one's.
ADOPT = text("""
    WITH abandoned AS MATERIALIZED (
        SELECT task_instance_id, attempt FROM task_attempt
         WHERE ended_at IS NULL AND scheduler_id = ANY (:owners)
         ORDER BY task_instance_id LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE task_attempt AS it SET scheduler_id = :adopter
      FROM abandoned
     WHERE it.task_instance_id = abandoned.task_instance_id AND it.attempt = abandoned.attempt
       AND it.scheduler_id = ANY (:owners)
""")

# State and phase are judged on the locked rows: an attempt that was claimed in between is
# running, and is left alone.  One with a handle minds what a lost one has left on a cluster.
REVOKE = text("""
    WITH stale AS MATERIALIZED (
        SELECT it.task_instance_id, it.attempt
          FROM task_attempt AS it
          JOIN task_instance AS task ON task.id = it.task_instance_id
                                    AND task.attempt = it.attempt
         WHERE it.phase = 'queued' AND task.state = 'queued' AND it.handle IS NULL
           AND it.queued_at < CAST(:now AS timestamptz) - make_interval(secs => :seconds)
         ORDER BY it.task_instance_id
         LIMIT :limit
           FOR NO KEY UPDATE OF task, it SKIP LOCKED
    ), ended AS (
        UPDATE task_attempt AS it
           SET phase = 'ended', ended_at = now(), outcome = 'cancelled', error = :reason
          FROM stale
         WHERE it.task_instance_id = stale.task_instance_id AND it.attempt = stale.attempt
           AND it.phase = 'queued'
     RETURNING it.task_instance_id, it.attempt, it.queue
    ), moved AS (
        UPDATE task_instance AS task
           SET state = 'scheduled', scheduled_at = CAST(:now AS timestamptz),
               rank = extract(epoch FROM CAST(:now AS timestamptz))
                      - task.priority * CAST(:aging AS numeric) + task.priority_class * 1e12
          FROM ended
         WHERE task.id = ended.task_instance_id AND task.attempt = ended.attempt
           AND task.state = 'queued'
     RETURNING ended.queue
    )
    SELECT queue, count(*) AS revoked FROM moved GROUP BY queue ORDER BY queue
""")

REVOKED = (
    "No worker claimed it within task_queued_timeout, so it is scheduled again. "
    "Start workers for its queue, or give them more slots."
)


def abandoned(conn: Connection) -> list[int]:
    """Return the processes that have ended and still own something."""
    return list(conn.scalars(ABANDONED))


def release(conn: Connection, owners: Sequence[int], limit: int) -> int:
    """Release runs that these processes have reserved, for any job; return how many."""
    return conn.execute(RELEASE, {"owners": list(owners), "limit": limit}).rowcount


def adopt(conn: Connection, owners: Sequence[int], adopter: int, limit: int) -> int:
    """Make live attempts of these processes the adopter's; return how many."""
    parameters = {"owners": list(owners), "adopter": adopter, "limit": limit}
    return conn.execute(ADOPT, parameters).rowcount


def revoke(
    conn: Connection, now: datetime, seconds: float, aging: float, limit: int
) -> dict[str, int]:
    """End attempts that were queued for longer, and mind nothing; return how many, by queue.

    Their tasks are scheduled anew, with a new queue position; nothing is counted against
    them.
    """
    parameters = {"now": now, "seconds": seconds, "aging": aging, "limit": limit}
    rows = conn.execute(REVOKE, {**parameters, "reason": REVOKED})
    return {row.queue: row.revoked for row in rows}
