"""SQL on leases: for how long an attempt is its worker's.  Only the database's clock counts."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from headway.db.attempts import AttemptKey
from headway.domain.retry import Next

RENEW = text("""
    UPDATE lease
       SET expires_at = clock_timestamp() + make_interval(secs => :seconds)
      FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]),
                  CAST(:tokens AS uuid[])) AS mine (task_instance_id, attempt, token)
     WHERE (lease.task_instance_id, lease.attempt) = (mine.task_instance_id, mine.attempt)
       AND lease.token = mine.token AND lease.expires_at > clock_timestamp()
 RETURNING lease.task_instance_id, lease.attempt
""")

EXPIRED = text("""
    SELECT task_instance_id
      FROM lease
     WHERE expires_at < now() - make_interval(secs => :grace)
     ORDER BY task_instance_id
     LIMIT :limit
""")

LOCK_TASKS = text("""
    SELECT id, attempt, losses
      FROM task_instance
     WHERE id = ANY (:ids) AND state IN ('running', 'restarting')
     ORDER BY id
       FOR NO KEY UPDATE SKIP LOCKED
""")

# Judged again on the row itself: a worker may have renewed it since it was seen.
TAKE = text("""
    DELETE FROM lease
     USING unnest(CAST(:ids AS bigint[]), CAST(:attempts AS int[])) AS task (id, attempt)
     WHERE (lease.task_instance_id, lease.attempt) = (task.id, task.attempt)
       AND lease.expires_at < now() - make_interval(secs => :grace)
 RETURNING lease.task_instance_id, lease.attempt
""")

END = text("""
    WITH lost AS MATERIALIZED (
        SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:attempts AS int[]),
                             CAST(:states AS text[]), CAST(:delays AS float8[]))
               AS lost (id, attempt, state, delay)
    ), ended AS (
        UPDATE task_attempt AS it
           SET phase = 'ended', ended_at = now(), outcome = 'lost', error = :error
          FROM lost
         WHERE (it.task_instance_id, it.attempt) = (lost.id, lost.attempt)
           AND it.phase IN ('running', 'stopping')
    ), moved AS (
        UPDATE task_instance AS task
           SET state = lost.state, losses = losses + 1, ended_at = now(),
               retry_at = now() + make_interval(secs => lost.delay)
          FROM lost
         WHERE task.id = lost.id AND task.attempt = lost.attempt AND task.state = 'running'
     RETURNING task.dag_run_id
    )
    INSERT INTO wake (dag_run_id) SELECT DISTINCT dag_run_id FROM moved
""")

LOST = "The worker stopped renewing its lease on this attempt: it died, or lost the database."


@dataclass(frozen=True, slots=True)
class LostAttempt:
    """An attempt whose lease has run out; `losses` counts those of its task, this one included."""

    task_instance_id: int
    attempt: int
    losses: int


def renew(conn: Connection, keys: Sequence[AttemptKey], seconds: float) -> set[AttemptKey]:
    """Extend leases that have not run out; whatever is not returned must be stopped at once."""
    rows = conn.execute(
        RENEW,
        {
            "task_ids": [key.task_instance_id for key in keys],
            "attempts": [key.attempt for key in keys],
            "tokens": [str(key.token) for key in keys],
            "seconds": seconds,
        },
    )
    renewed = {(row.task_instance_id, row.attempt) for row in rows}
    return {key for key in keys if (key.task_instance_id, key.attempt) in renewed}


def take_expired(conn: Connection, grace: float, limit: int) -> list[LostAttempt]:
    """Take away leases that ran out more than `grace` seconds ago, and lock their tasks."""
    ids = list(conn.scalars(EXPIRED, {"grace": grace, "limit": limit}))
    if not ids:
        return []
    tasks = {row.id: row for row in conn.execute(LOCK_TASKS, {"ids": ids})}
    taken = conn.execute(
        TAKE,
        {"ids": list(tasks), "attempts": [row.attempt for row in tasks.values()], "grace": grace},
    )
    return [
        LostAttempt(row.task_instance_id, row.attempt, tasks[row.task_instance_id].losses + 1)
        for row in taken
    ]


def end_lost(conn: Connection, lost: Sequence[tuple[LostAttempt, Next]]) -> None:
    """End attempts whose lease was taken; each task moves to what follows."""
    conn.execute(
        END,
        {
            "ids": [attempt.task_instance_id for attempt, _ in lost],
            "attempts": [attempt.attempt for attempt, _ in lost],
            "states": [str(following.state) for _, following in lost],
            "delays": [following.seconds for _, following in lost],
            "error": LOST,
        },
    )
