"""SQL on starting: which DAGs have queued runs that may start, and which these are."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from headway.db.choice import ANY_DAG, Choice
from headway.db.prepared import hot
from headway.db.reservations import Scope
from headway.domain.states import RunType

# A lane is a backfill, or, where there is none, the DAG's own runs.  Lanes are found by
# hopping through the index of queued runs, that of the DAG's own runs the last of each DAG;
# to order by all of its columns keeps the planner from taking any other.  A lane in which
# all that find room wait for a parse, which was asked for, has nothing to start.
LOCK_STARTING = hot("""
    WITH RECURSIVE lane AS (
        (SELECT dag_id, backfill_id FROM dag_run
          WHERE state = 'queued' ORDER BY dag_id, backfill_id, run_after, id LIMIT 1)
         UNION ALL
        SELECT following.*
          FROM lane
         CROSS JOIN LATERAL (
               (SELECT dag_id, backfill_id FROM dag_run
                 WHERE state = 'queued' AND dag_run.dag_id = lane.dag_id
                   AND dag_run.backfill_id > lane.backfill_id
                 ORDER BY backfill_id, run_after, id LIMIT 1)
                UNION ALL
               (SELECT dag_id, backfill_id FROM dag_run
                 WHERE state = 'queued' AND dag_run.dag_id = lane.dag_id
                   AND dag_run.backfill_id IS NULL AND lane.backfill_id IS NOT NULL
                 ORDER BY backfill_id, run_after, id LIMIT 1)
                UNION ALL
               (SELECT dag_id, backfill_id FROM dag_run
                 WHERE state = 'queued' AND dag_run.dag_id > lane.dag_id
                 ORDER BY dag_id, backfill_id, run_after, id LIMIT 1)
               LIMIT 1) AS following
    )
    SELECT its.dag_id, its.max_active_runs
      FROM lane
     CROSS JOIN LATERAL (
           SELECT dag_id, max_active_runs
             FROM dag
            CROSS JOIN LATERAL (
                  SELECT coalesce((SELECT CASE WHEN paused THEN 0 ELSE max_active_runs END
                                     FROM backfill WHERE id = lane.backfill_id),
                                  dag.max_active_runs)
                         - (SELECT count(*) FROM dag_run AS active
                             WHERE active.dag_id = lane.dag_id AND active.state = 'running'
                               AND active.backfill_id IS NOT DISTINCT FROM lane.backfill_id)
                         AS free
                  OFFSET 0) AS room
            WHERE dag.dag_id = lane.dag_id AND active AND NOT paused
              AND coalesce(
                  (SELECT true
                     FROM (SELECT pinned OR parse_asked_at IS NULL AS moves FROM dag_run AS run
                            WHERE run.dag_id = lane.dag_id AND run.state = 'queued'
                              AND run.backfill_id = lane.backfill_id AND run_after <= :now
                              AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
                            ORDER BY run_after, id
                            LIMIT greatest(room.free, 0)) AS first
                    WHERE moves LIMIT 1),
                  (SELECT true
                     FROM (SELECT pinned OR parse_asked_at IS NULL AS moves FROM dag_run AS run
                            WHERE run.dag_id = lane.dag_id AND run.state = 'queued'
                              AND run.backfill_id IS NULL AND lane.backfill_id IS NULL
                              AND run_after <= :now
                              AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
                            ORDER BY backfill_id, run_after, id
                            LIMIT greatest(room.free, 0)) AS first
                    WHERE moves LIMIT 1))
              AND NOT dag_id = ANY (CAST(:aside AS text[]))
              AND (CAST(:only AS text[]) IS NULL OR dag_id = ANY (CAST(:only AS text[])))
            LIMIT 1
              FOR NO KEY UPDATE OF dag SKIP LOCKED) AS its
     LIMIT :limit
""")

LOCK_QUEUED = hot("""
    SELECT id, pinned, run_type, run_after FROM dag_run
     WHERE id = ANY (:ids) AND state = 'queued'
       AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
     ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
""")


class Startable(NamedTuple):
    """Locked runs that may start, and those whose DAG file is to be parsed before.

    `due` tells since when those were due that may start and are of a schedule.
    """

    ids: list[int]
    unpinned: list[int]
    due: list[datetime]


def lock_starting(
    conn: Connection, now: datetime, limit: int, scope: Scope, choice: Choice[str] = ANY_DAG
) -> dict[str, int]:
    """Lock DAGs that have a queued run in scope and room for it; return their max_active_runs."""
    parameters = {"now": now, "limit": limit, **scope.parameters(), **choice.parameters()}
    rows = conn.execute(LOCK_STARTING, parameters)
    return {row.dag_id: row.max_active_runs for row in rows}


def lock_queued(conn: Connection, ids: Sequence[int], scope: Scope) -> Startable:
    """Lock those of these runs that are queued and that nobody else holds or has reserved."""
    rows = conn.execute(LOCK_QUEUED, {"ids": list(ids), **scope.parameters()}).all()
    pinned = [row for row in rows if row.pinned]
    return Startable(
        [row.id for row in pinned],
        [row.id for row in rows if not row.pinned],
        [row.run_after for row in pinned if row.run_type == RunType.SCHEDULED],
    )
