"""SQL on DAGs: the version in force, and when the next run falls due."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from headway.db.choice import ANY_DAG, Choice
from headway.db.prepared import hot
from headway.db.reservations import Scope
from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo

PAUSE = text("""
    UPDATE dag SET paused = :paused, planned_version_id = NULL WHERE dag_id = :dag_id AND active
""")

# A DAG is to be planned when its next run is due and may be created, or when what
# its next run was computed from has changed.  Queued and running runs, here and below, are
# counted apart, for each has an index of its own; together they would be sought among all.
LOCK_DUE = text("""
    SELECT dag_id, version_id, max_active_runs
      FROM dag
     WHERE dag_id IN (
           SELECT dag_id FROM dag
            WHERE active AND NOT paused AND planned_version_id IS DISTINCT FROM version_id
            UNION
           SELECT dag_id FROM dag
            WHERE active AND NOT paused AND next_run_after <= :now
              AND (SELECT count(*) FROM dag_run
                    WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
                      AND backfill_id IS NULL AND state = 'queued')
                  + (SELECT count(*) FROM dag_run
                      WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
                        AND backfill_id IS NULL AND state = 'running') < max_active_runs)
       AND active AND NOT paused AND version_id IS NOT NULL
       AND NOT version_id = ANY (CAST(:unreadable AS bigint[]))
       AND NOT dag_id = ANY (CAST(:aside AS text[]))
       AND (CAST(:only AS text[]) IS NULL OR dag_id = ANY (CAST(:only AS text[])))
     ORDER BY next_run_after NULLS FIRST, dag_id
     LIMIT :limit
       FOR NO KEY UPDATE SKIP LOCKED
""")

SCHEDULED = text("""
    SELECT dag.dag_id, last.interval_start, last.interval_end,
           ARRAY(SELECT schedule_date FROM dag_run
                  WHERE dag_run.dag_id = dag.dag_id AND run_type = 'backfill'
                    AND schedule_date > coalesce(last.schedule_date, '-infinity')) AS taken,
           (SELECT count(*) FROM dag_run
             WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
               AND backfill_id IS NULL AND state = 'queued')
           + (SELECT count(*) FROM dag_run
               WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
                 AND backfill_id IS NULL AND state = 'running') AS unfinished
      FROM unnest(CAST(:dag_ids AS text[])) AS dag (dag_id)
      LEFT JOIN LATERAL (
           SELECT interval_start, interval_end, schedule_date FROM dag_run
            WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
            ORDER BY schedule_date DESC
            LIMIT 1) AS last ON true
""")

PLAN = text("""
    UPDATE dag
       SET planned_version_id = :version_id, next_run_after = :run_after,
           next_interval_start = :interval_start, next_interval_end = :interval_end
     WHERE dag_id = :dag_id
""")

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
    SELECT dag_id, max_active_runs
      FROM dag
     WHERE active AND NOT paused
       AND dag_id IN (
           SELECT lane.dag_id
             FROM lane
             JOIN dag USING (dag_id)
            CROSS JOIN LATERAL (
                  SELECT coalesce((SELECT max_active_runs FROM backfill
                                    WHERE id = lane.backfill_id), dag.max_active_runs)
                         - (SELECT count(*) FROM dag_run AS active
                             WHERE active.dag_id = lane.dag_id AND active.state = 'running'
                               AND active.backfill_id IS NOT DISTINCT FROM lane.backfill_id)
                         AS free
                  OFFSET 0) AS room
            WHERE coalesce(
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
                    WHERE moves LIMIT 1)))
       AND NOT dag_id = ANY (CAST(:aside AS text[]))
       AND (CAST(:only AS text[]) IS NULL OR dag_id = ANY (CAST(:only AS text[])))
     ORDER BY dag_id
     LIMIT :limit
       FOR NO KEY UPDATE SKIP LOCKED
""")

LOCK_PLACES = hot("""
    SELECT dag_id, max_active_tasks, paused
      FROM dag
     WHERE dag_id = ANY (:dag_ids)
     ORDER BY dag_id
       FOR NO KEY UPDATE SKIP LOCKED
""")


@dataclass(frozen=True, slots=True)
class DueDag:
    """A locked DAG whose next runs are to be created, or whose next run is to be computed.

    `last` is the interval of its newest scheduled run; `taken` are the dates after it
    at which a backfill has created a run; `room` is how many more scheduled runs it
    may have unfinished.
    """

    dag_id: str
    version_id: int
    last: DataInterval | None
    taken: frozenset[datetime]
    room: int


def set_paused(conn: Connection, dag_id: str, *, paused: bool) -> bool:
    """Pause or unpause; False when there is no such DAG.  Its next run is computed anew."""
    return conn.execute(PAUSE, {"dag_id": dag_id, "paused": paused}).rowcount > 0


def lock_due(
    conn: Connection,
    now: datetime,
    limit: int,
    unreadable: Collection[int] = (),
    choice: Choice[str] = ANY_DAG,
) -> list[DueDag]:
    """Lock DAGs that need a run created or planned, the longest overdue first.

    DAGs of an `unreadable` version are left to a scheduler that can read it.
    """
    parameters = {"now": now, "limit": limit, "unreadable": list(unreadable)}
    rows = conn.execute(LOCK_DUE, {**parameters, **choice.parameters()})
    locked = {row.dag_id: row for row in rows}
    due = []
    for row in conn.execute(SCHEDULED, {"dag_ids": list(locked)}):
        dag = locked[row.dag_id]
        last = row.interval_start and DataInterval(row.interval_start, row.interval_end)
        room = dag.max_active_runs - row.unfinished
        taken = frozenset(row.taken)
        due.append(DueDag(row.dag_id, dag.version_id, last, taken, max(room, 0)))
    return due


def plan(conn: Connection, dag: DueDag, following: DagRunInfo | None) -> None:
    """Store when the next run of a locked DAG falls due."""
    interval = following and following.data_interval
    conn.execute(
        PLAN,
        {
            "dag_id": dag.dag_id,
            "version_id": dag.version_id,
            "run_after": following and following.run_after,
            "interval_start": interval and interval.start,
            "interval_end": interval and interval.end,
        },
    )


def lock_starting(
    conn: Connection, now: datetime, limit: int, scope: Scope, choice: Choice[str] = ANY_DAG
) -> dict[str, int]:
    """Lock DAGs that have a queued run in scope and room for it; return their max_active_runs."""
    parameters = {"now": now, "limit": limit, **scope.parameters(), **choice.parameters()}
    rows = conn.execute(LOCK_STARTING, parameters)
    return {row.dag_id: row.max_active_runs for row in rows}


def lock_places(conn: Connection, dag_ids: Collection[str]) -> dict[str, int]:
    """Lock these DAGs and return how many tasks each may have active.

    A DAG that another scheduler holds is left out; a paused one has no place.  What is
    taken is to be counted in the next statement.
    """
    rows = conn.execute(LOCK_PLACES, {"dag_ids": sorted(dag_ids)})
    return {row.dag_id: 0 if row.paused else row.max_active_tasks for row in rows}
