"""SQL on leases: for how long an attempt is its worker's.  Only the database's clock counts.

A claim holds until the attempt's `claimed_until`; the first renewal enters a lease, which
counts from then on.  So an attempt that is soon over has none.  Renewing and taking away
exclude each other by the attempt's row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from headway.db import attempt_keys
from headway.db.attempts import AttemptKey, Report, report
from headway.db.callbacks import events_of
from headway.db.prepared import hot
from headway.decide.lost import SilenceCount
from headway.domain.callbacks import CallbackEvent
from headway.domain.handle import outliving
from headway.domain.retry import Next
from headway.domain.states import OnLost, Outcome, TaskState

# FOR SHARE, which the update of whoever takes the attempt away conflicts with.  It waits for
# a report or a user's action, so it locks in the order of ids, as they do.  A lease that has
# run out is renewed all the same: only by being taken is an attempt another's, and that ends
# it.  So a jump of the database's clock, or a while without it, kills nothing by itself.
RENEW = hot("""
    WITH mine AS MATERIALIZED (
        SELECT * FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]),
                             CAST(:tokens AS uuid[])) AS mine (task_instance_id, attempt, token)
         ORDER BY task_instance_id
    ), held AS MATERIALIZED (
        SELECT mine.*, it.phase, it.process_id
          FROM mine
         CROSS JOIN LATERAL (
               SELECT it.phase, it.process_id
                 FROM task_attempt AS it
                WHERE it.task_instance_id = mine.task_instance_id AND it.attempt = mine.attempt
                  AND it.token = mine.token AND it.phase IN ('running', 'stopping')
                  FOR SHARE) AS it
    ), renewed AS (
        INSERT INTO lease AS present (task_instance_id, attempt, token, process_id, expires_at)
        SELECT task_instance_id, attempt, token, process_id,
               clock_timestamp() + make_interval(secs => :seconds)
          FROM held
            ON CONFLICT (task_instance_id, attempt) DO UPDATE
           SET expires_at = excluded.expires_at
    )
    SELECT task_instance_id, attempt, phase = 'stopping' AS stopping FROM held
""")

# The order makes it a scan of the index of live attempts, which alone clears that index of
# those that have ended.
SURVEY = text("""
    SELECT count(*) FILTER (WHERE alive) AS running,
           count(*) FILTER (WHERE alive AND expired) AS expired,
           count(*) FILTER (WHERE NOT alive AND expired) AS orphaned
      FROM (SELECT process.id IS NOT NULL AS alive,
                   coalesce(lease.expires_at, it.claimed_until)
                   < now() - make_interval(secs => :grace) AS expired
              FROM task_attempt AS it
              LEFT JOIN lease ON lease.task_instance_id = it.task_instance_id
                             AND lease.attempt = it.attempt
              LEFT JOIN process ON process.id = it.process_id AND process.ended_at IS NULL
             WHERE it.ended_at IS NULL AND it.phase IN ('running', 'stopping')
             ORDER BY it.task_instance_id) AS held
""")

# For how long a claim holds can be read off the attempt: the worker has it in its settings.
EXPIRED = text("""
    SELECT it.task_instance_id
      FROM task_attempt AS it
      LEFT JOIN lease ON lease.task_instance_id = it.task_instance_id
                     AND lease.attempt = it.attempt
      LEFT JOIN process ON process.id = it.process_id AND process.ended_at IS NULL
     WHERE it.ended_at IS NULL AND it.phase IN ('running', 'stopping')
       AND coalesce(lease.expires_at, it.claimed_until)
           < now() - make_interval(secs => :grace)
               - CASE WHEN :storm AND process.id IS NOT NULL
                      THEN make_interval(secs => :grace) + (it.claimed_until - it.started_at)
                      ELSE interval '0' END
     ORDER BY it.task_instance_id
     LIMIT :limit
""")

LOCK = text("""
    SELECT it.task_instance_id
      FROM task_instance AS task
      JOIN task_attempt AS it ON it.task_instance_id = task.id
     WHERE task.id = ANY (:ids) AND it.ended_at IS NULL
     ORDER BY task.id
       FOR NO KEY UPDATE OF task, it SKIP LOCKED
""")

# Judged again, in a statement after the lock: until it the worker may have renewed the lease.
# A run that was deleted by hand has left its attempts: they end as well.
JUDGE = text("""
    SELECT it.task_instance_id, it.attempt, it.token, it.error, it.stop_to, it.handle, task.losses,
           coalesce(definition.on_lost, 'retry') AS on_lost, definition.callbacks,
           definition.notifies
      FROM task_attempt AS it
      JOIN task_instance AS task ON task.id = it.task_instance_id
      LEFT JOIN dag_run AS run ON run.id = task.dag_run_id
      LEFT JOIN dag_task AS definition ON definition.version_id = run.version_id
                                      AND definition.task_id = task.task_id
      LEFT JOIN lease ON lease.task_instance_id = it.task_instance_id
                     AND lease.attempt = it.attempt
     WHERE it.task_instance_id = ANY (:ids) AND it.phase IN ('running', 'stopping')
       AND coalesce(lease.expires_at, it.claimed_until) < now() - make_interval(secs => :grace)
     ORDER BY it.task_instance_id
""")

LOST = "The worker stopped renewing its lease on this attempt: it died, or lost the database."


@dataclass(frozen=True, slots=True)
class LostAttempt:
    """An attempt whose lease has run out; `losses` counts those of its task, this one included.

    `left` names what it may have left on a cluster; `stop_to` is what it was told to stop for.
    """

    key: AttemptKey
    losses: int
    on_lost: OnLost
    callbacks: Sequence[CallbackEvent] = ()
    error: str = LOST
    left: str | None = None
    stop_to: TaskState | None = None
    notifies: Sequence[CallbackEvent] = ()


def renew(conn: Connection, keys: Sequence[AttemptKey], seconds: float) -> dict[AttemptKey, bool]:
    """Extend what nobody has taken; return it, with whether the attempt was told to stop.

    Whatever is not returned is no longer the worker's, and must be killed at once.
    """
    rows = conn.execute(RENEW, {**attempt_keys.columns(keys), "seconds": seconds})
    renewed = {(row.task_instance_id, row.attempt): row.stopping for row in rows}
    mine = ((key, (key.task_instance_id, key.attempt)) for key in keys)
    return {key: renewed[pair] for key, pair in mine if pair in renewed}


def survey(conn: Connection, grace: float) -> SilenceCount:
    """Count the attempts that run, and those whose lease ran out more than `grace` seconds ago."""
    return SilenceCount(*conn.execute(SURVEY, {"grace": grace}).one())


def take_expired(
    conn: Connection, grace: float, limit: int, *, storm: bool = False
) -> list[LostAttempt]:
    """Lock attempts whose lease ran out more than `grace` seconds ago; nobody can renew them.

    In a storm the attempts of processes that count as alive are given twice the grace,
    and the time for which a claim of theirs holds once more.  Nothing is waited for.
    """
    expired = {"grace": grace, "storm": storm, "limit": limit}
    ids = list(conn.scalars(EXPIRED, expired))
    if not ids:
        return []
    locked = list(conn.scalars(LOCK, {"ids": ids}))
    return [
        LostAttempt(
            AttemptKey(row.task_instance_id, row.attempt, row.token),
            row.losses + 1,
            OnLost(row.on_lost),
            events_of(row.callbacks),
            _error(row.error, row.stop_to),
            outliving(row.handle),
            row.stop_to and TaskState(row.stop_to),
            events_of(row.notifies),
        )
        for row in conn.execute(JUDGE, {"ids": locked, "grace": grace})
    ]


def end_lost(conn: Connection, lost: Sequence[tuple[LostAttempt, Next]]) -> None:
    """End attempts that were taken, as their worker would have: each task moves on."""
    reports = [
        Report(
            key=attempt.key,
            outcome=Outcome.LOST,
            following=following,
            error=_told(attempt),
            callbacks=attempt.callbacks,
            notifies=attempt.notifies,
        )
        for attempt, following in lost
    ]
    report(conn, reports)


def _error(error: str | None, stop_to: str | None) -> str:
    """Return the error of a lost attempt; of one that was told to stop, it has who told so."""
    return f"{LOST} {error}" if error and stop_to else error or LOST


def _told(attempt: LostAttempt) -> str:
    """Return its error: nobody asks any more about what it may have left."""
    if attempt.left is None:
        return attempt.error
    return f"{attempt.error} Look on its cluster: {attempt.left} may still run."
