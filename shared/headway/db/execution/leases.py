"""SQL that renews leases: how long an attempt is its worker's, by the database's clock."""

from collections.abc import Sequence

from sqlalchemy import Connection

from headway.db.core import attempt_keys
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.prepared import hot

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


def renew(conn: Connection, keys: Sequence[AttemptKey], seconds: float) -> dict[AttemptKey, bool]:
    """Extend what nobody has taken; return it, with whether the attempt was told to stop.

    Whatever is not returned is no longer the worker's, and must be killed at once.
    """
    rows = conn.execute(RENEW, {**attempt_keys.columns(keys), "seconds": seconds})
    renewed = {(row.task_instance_id, row.attempt): row.stopping for row in rows}
    mine = ((key, (key.task_instance_id, key.attempt)) for key in keys)
    return {key: renewed[pair] for key, pair in mine if pair in renewed}
