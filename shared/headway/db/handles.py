"""SQL on handles: what attempts have elsewhere, and who follows those that have left it there.

The successor of a lost attempt is queued in its place by the statement that ends it: pool, DAG
and queue see no change, and the task is at no time without an attempt that minds what runs.
"""

from collections.abc import Mapping, Sequence
from json import dumps

from sqlalchemy import Connection, text

from headway.db import attempt_keys, attempts, callbacks, notified
from headway.db.attempts import AttemptKey, Report
from headway.db.leases import LostAttempt
from headway.domain.arguments import JsonValue
from headway.domain.retry import Next
from headway.domain.states import Outcome, Role, TaskState, sources

SET = text("""
    UPDATE task_attempt SET handle = CAST(:handle AS json)
     WHERE task_instance_id = :task_id AND attempt = :attempt AND token = :token
       AND phase IN ('running', 'stopping')
""")

# The error is kept for whoever takes the attempt for lost: at once, or after the delay and the
# grace that any lease has.
GIVE_UP = text("""
    WITH given AS MATERIALIZED (
        SELECT * FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]),
                             CAST(:tokens AS uuid[]), CAST(:errors AS text[]),
                             CAST(:delays AS float8[]))
               AS given (task_instance_id, attempt, token, error, delay)
         ORDER BY task_instance_id
    ), held AS MATERIALIZED (
        SELECT given.*
          FROM given
         CROSS JOIN LATERAL (
               SELECT FROM task_attempt AS it
                WHERE it.task_instance_id = given.task_instance_id
                  AND it.attempt = given.attempt AND it.token = given.token
                  AND it.phase IN ('running', 'stopping')
                  FOR NO KEY UPDATE OF it) AS it
    ), mine AS (
        UPDATE task_attempt AS it SET error = held.error
          FROM held
         WHERE it.task_instance_id = held.task_instance_id AND it.attempt = held.attempt
     RETURNING it.task_instance_id, it.attempt, it.token, it.process_id, held.delay
    )
    INSERT INTO lease AS present (task_instance_id, attempt, token, process_id, expires_at)
    SELECT task_instance_id, attempt, token, process_id,
           CASE WHEN delay > 0 THEN now() + make_interval(secs => delay) ELSE to_timestamp(0) END
      FROM mine
        ON CONFLICT (task_instance_id, attempt) DO UPDATE SET expires_at = excluded.expires_at
 RETURNING task_instance_id, attempt
""")

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


def save(conn: Connection, key: AttemptKey, handle: Mapping[str, JsonValue]) -> bool:
    """Record what the attempt has running elsewhere; False when the attempt is no longer ours."""
    parameters = {**attempt_keys.parameters(key), "handle": dumps(dict(handle))}
    return conn.execute(SET, parameters).rowcount > 0


def give_up(conn: Connection, reports: Sequence[Report]) -> set[AttemptKey]:
    """Let attempts be taken for lost, each after its delay; return those that were still ours.

    Their worker has ended all of them that it could.
    """
    ids = [report.key.task_instance_id for report in reports]
    conn.execute(attempts.LOCK_TASKS, {"ids": ids})
    mine = conn.execute(
        GIVE_UP,
        {
            **attempt_keys.columns([report.key for report in reports]),
            "errors": [report.error for report in reports],
            "delays": [report.following.seconds or 0.0 for report in reports],
        },
    )
    found = {(row.task_instance_id, row.attempt) for row in mine}
    keys = (report.key for report in reports)
    return {key for key in keys if (key.task_instance_id, key.attempt) in found}


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
            **attempt_keys.columns([it.key for it, _ in lost]),
            "errors": [it.error for it, _ in lost],
            "targets": [target and str(target) for _, target in lost],
            "sources": sources(TaskState.QUEUED, Role.SCHEDULER),
            "scheduler": scheduler,
        },
    )
    again = Next(TaskState.UP_FOR_RETRY)
    retried = [
        Report(
            key=it.key,
            outcome=Outcome.LOST,
            following=again,
            error=it.error,
            callbacks=it.callbacks,
            notifies=it.notifies,
        )
        for it, target in lost
        if target is None
    ]
    callbacks.add_of_tasks(conn, [(report, again.state) for report in retried])
    notified.add_of_tasks(conn, [(report, again.state) for report in retried])
