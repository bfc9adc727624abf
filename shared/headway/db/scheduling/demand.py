"""SQL on demand: which of the scheduler's passes has anything to do."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from headway.db.core.prepared import hot

# One look at the head of each index: the cost of an idle scheduler, whatever there is.
LOOK = hot("""
    WITH RECURSIVE present AS MATERIALIZED (
        SELECT coalesce(CAST(:now AS timestamptz), now()) AS now
    ), pools AS (
        (SELECT pool FROM task_instance WHERE state = 'scheduled' AND NOT limited
          ORDER BY pool LIMIT 1)
         UNION ALL
        SELECT (SELECT pool FROM task_instance AS task
                 WHERE state = 'scheduled' AND NOT limited AND task.pool > pools.pool
                 ORDER BY pool LIMIT 1)
          FROM pools WHERE pools.pool IS NOT NULL
    ), limited_pools AS (
        (SELECT pool FROM task_instance WHERE state = 'scheduled' AND limited
          ORDER BY pool LIMIT 1)
         UNION ALL
        SELECT (SELECT pool FROM task_instance AS task
                 WHERE state = 'scheduled' AND limited AND task.pool > limited_pools.pool
                 ORDER BY pool LIMIT 1)
          FROM limited_pools WHERE limited_pools.pool IS NOT NULL
    )
    SELECT EXISTS (SELECT FROM dag
                    WHERE active AND NOT paused AND next_run_after <= (SELECT now FROM present))
           OR EXISTS (SELECT FROM dag
                       WHERE active AND NOT paused
                         AND planned_version_id IS DISTINCT FROM version_id
                         AND NOT version_id = ANY (CAST(:unreadable AS bigint[]))) AS due,
           EXISTS (SELECT FROM dag_run
                    WHERE state = 'queued' AND run_after <= (SELECT now FROM present)) AS queued,
           EXISTS (SELECT FROM dag_run
                    WHERE state = 'running' AND deadline <= (SELECT now FROM present)) AS overdue,
           EXISTS (SELECT FROM wake) AS woken,
           EXISTS (SELECT FROM task_instance
                    WHERE state = 'up_for_retry'
                      AND retry_at <= (SELECT now FROM present)) AS retries,
           EXISTS (SELECT FROM run_request WHERE answered_at IS NULL) AS requested,
           ARRAY(SELECT pool FROM pools WHERE pool IS NOT NULL
                  UNION
                 SELECT pool FROM limited_pools WHERE pool IS NOT NULL) AS pools,
           (SELECT count(*) FROM process
             WHERE kind IN ('scheduler', 'backfill') AND ended_at IS NULL) AS jobs,
           (SELECT now FROM present) AS now
""")


@dataclass(frozen=True, slots=True)
class Demand:
    """What there is to do: DAGs to plan, runs to start, time out and settle, retries, pools.

    And runs that tasks have `requested`.

    `jobs` is how many processes there are to do it; `now` is when it was so.
    """

    due: bool
    queued: bool
    overdue: bool
    woken: bool
    retries: bool
    requested: bool
    pools: list[str]
    jobs: int
    now: datetime


def look(conn: Connection, now: datetime | None, unreadable: Collection[int] = ()) -> Demand:
    """Return what there is to do at `now`, which without one is what the database's clock shows.

    It may all be blocked, or another scheduler's.
    """
    row = conn.execute(LOOK, {"now": now, "unreadable": list(unreadable)}).one()
    return Demand(*row)
