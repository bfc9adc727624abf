"""SQL on attempts whose lease is over: found, judged, ended, and followed by a successor."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from headway.db.core import attempt_keys
from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import callbacks, notified_events
from headway.db.execution.attempts import Report, report
from headway.db.execution.callbacks import events_of
from headway.decide.scheduling.lost import SilenceCount
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.retry import Next
from headway.domain.spark_work import outliving
from headway.domain.states import OnLost, Outcome, Role, TaskState, sources

# The order makes it a scan of the index of live attempts, which alone clears that index of
# those that have ended.
COUNT_SILENT = text("""
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


def count_silent(conn: Connection, grace: float) -> SilenceCount:
    """Count the attempts that run, and those whose lease ran out more than `grace` seconds ago."""
    return SilenceCount(*conn.execute(COUNT_SILENT, {"grace": grace}).one())


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


# Its successor has the handle from the beginning: so it is known to mind something even before
# it has begun.  It waits for a worker only: the task counts as scheduled anew, at once.
FOLLOW = text("""
    WITH lost AS MATERIALIZED (
        SELECT * FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]),
                             CAST(:tokens AS uuid[]), CAST(:errors AS text[]),
                             CAST(:targets AS text[]))
               AS lost (task_instance_id, attempt, token, error, stop_to)
    ), ended AS (
        UPDATE task_attempt AS it
           SET phase = 'ended', ended_at = greatest(now(), it.started_at), outcome = 'lost',
               error = lost.error,
               stop_to = lost.stop_to
          FROM lost
         WHERE it.task_instance_id = lost.task_instance_id AND it.attempt = lost.attempt
           AND it.token = lost.token AND it.phase IN ('running', 'stopping')
     RETURNING it.*
    ), released AS (
        DELETE FROM lease USING ended
         WHERE lease.task_instance_id = ended.task_instance_id AND lease.attempt = ended.attempt
    ), moved AS (
        UPDATE task_instance AS task
           SET state = 'queued', attempt = task.attempt + 1, losses = task.losses + 1,
               scheduled_at = now(), started_at = NULL
          FROM ended
         WHERE task.id = ended.task_instance_id AND task.attempt = ended.attempt
           AND task.state = ANY (:sources)
     RETURNING task.id, task.attempt
    )
    INSERT INTO task_attempt (task_instance_id, attempt, dag_id, pool, pool_slots, queue, rank,
                              scheduler_id, queued_at, handle, stop_to)
    SELECT moved.id, moved.attempt, dag_id, pool, pool_slots, queue, rank, :scheduler, now(),
           handle, stop_to
      FROM moved JOIN ended ON ended.task_instance_id = moved.id
""")


def follow(
    conn: Connection, lost: Sequence[tuple[LostAttempt, TaskState | None]], scheduler: int
) -> None:
    """End attempts that were taken, each followed at once by a charge of that scheduler.

    That takes up what was left on a cluster, which is a retry; with a state it only ends it,
    and the task gets that state afterwards.  Each loss is counted.
    """
    conn.execute(
        FOLLOW,
        {
            **attempt_keys.columns([attempt.key for attempt, _ in lost]),
            "errors": [attempt.error for attempt, _ in lost],
            "targets": [target and str(target) for _, target in lost],
            "sources": sources(TaskState.QUEUED, Role.SCHEDULER),
            "scheduler": scheduler,
        },
    )
    again = Next(TaskState.UP_FOR_RETRY)
    retried = [
        Report(
            key=attempt.key,
            outcome=Outcome.LOST,
            following=again,
            error=attempt.error,
            callbacks=attempt.callbacks,
            notifies=attempt.notifies,
        )
        for attempt, target in lost
        if target is None
    ]
    callbacks.add_of_tasks(conn, [(report, again.state) for report in retried])
    notified_events.add_of_tasks(conn, [(report, again.state) for report in retried])
