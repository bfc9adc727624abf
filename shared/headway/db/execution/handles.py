"""SQL on handles: what attempts have elsewhere."""

from collections.abc import Mapping, Sequence
from json import dumps

from sqlalchemy import Connection, text

from headway.db.core import attempt_keys
from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import attempts
from headway.db.execution.attempts import Report
from headway.domain.arguments import JsonValue

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
