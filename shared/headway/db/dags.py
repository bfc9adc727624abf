"""SQL on DAGs: the version in force, and when the next run falls due."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, text

from headway.db.choice import ANY_DAG, Choice
from headway.db.prepared import hot
from headway.db.reservations import Scope
from headway.decide.due_plan import Due, Standing
from headway.decide.taken import Taken
from headway.domain.interval import DataInterval

PAUSE = text("""
    UPDATE dag
       SET paused = :paused, planned_version_id = NULL,
           scheduled_since = CASE WHEN :paused THEN scheduled_since ELSE now() END
     WHERE dag_id = :dag_id AND active
""")

# A DAG is to be planned when its next run is due and may be created, or when what
# its next run was computed from has changed.  Queued and running runs, here and below, are
# counted apart, for each has an index of its own; together they would be sought among all.
# The longest overdue and the latest take turns: so after an outage, when there is much to be
# created of many, what falls due now does not wait for it.
LOCK_DUE = text("""
    SELECT dag_id, version_id, planned_version_id, max_active_runs, scheduled_since, watched_since
      FROM dag
      JOIN (SELECT dag_id,
                   least(2 * row_number() OVER (ORDER BY next_run_after NULLS FIRST, dag_id) - 1,
                         2 * row_number() OVER (ORDER BY next_run_after DESC NULLS LAST, dag_id))
                   AS turn
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
                                AND backfill_id IS NULL AND state = 'running')
                          < coalesce(next_below, max_active_runs))) AS due USING (dag_id)
     WHERE active AND NOT paused AND version_id IS NOT NULL
       AND NOT version_id = ANY (CAST(:unreadable AS bigint[]))
       AND NOT dag_id = ANY (CAST(:aside AS text[]))
       AND (CAST(:only AS text[]) IS NULL OR dag_id = ANY (CAST(:only AS text[])))
     ORDER BY turn, dag_id
     LIMIT :limit
       FOR NO KEY UPDATE OF dag SKIP LOCKED
""")

# The interval that was dealt with last may have no run of its own: it was passed, or a run
# covers it with others.  It is the one that ends last: by another schedule it may have been dated
# later than those that follow it now.
SCHEDULED = text("""
    SELECT dag.dag_id, last.interval_start, last.interval_end,
           (SELECT since FROM schedule_watch) AS watched_since,
           to_jsonb(ARRAY(
                 SELECT jsonb_build_array(schedule_date, interval_start, interval_end, partitions)
                   FROM dag_run
                  WHERE dag_run.dag_id = dag.dag_id AND run_type = 'backfill'
                    AND interval_end > coalesce(last.interval_end, '-infinity')
                  UNION
                 SELECT jsonb_build_array(it.schedule_date, it.interval_start, it.interval_end,
                                          run.partitions)
                   FROM backfill
                   JOIN backfill_date AS it ON it.backfill_id = backfill.id
                   JOIN dag_run AS run ON run.id = it.dag_run_id
                  WHERE backfill.dag_id = dag.dag_id AND backfill.rollup > 1
                    AND it.fate = 'create'
                    AND it.interval_end > coalesce(last.interval_end, '-infinity'))) AS taken,
           (SELECT count(*) FROM dag_run
             WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
               AND backfill_id IS NULL AND state = 'queued')
           + (SELECT count(*) FROM dag_run
               WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
                 AND backfill_id IS NULL AND state = 'running') AS unfinished
      FROM unnest(CAST(:dag_ids AS text[])) AS dag (dag_id)
      LEFT JOIN LATERAL (
           SELECT * FROM (
               (SELECT interval_start, interval_end, schedule_date, true AS own FROM dag_run
                 WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
                 ORDER BY interval_end DESC, schedule_date DESC, interval_start DESC
                 LIMIT 1)
                UNION ALL
               (SELECT interval_start, interval_end, schedule_date, false FROM passed_interval
                 WHERE passed_interval.dag_id = dag.dag_id
                 ORDER BY interval_end DESC, schedule_date DESC, interval_start DESC
                 LIMIT 1)) AS either
            ORDER BY interval_end DESC, schedule_date DESC, own
            LIMIT 1) AS last ON true
""")

# Since when it is scheduled is what it was judged by: the clocks of schedulers may be behind the
# database's, and what falls due after the first look is not to have been missed.
PLAN = hot("""
    UPDATE dag
       SET planned_version_id = it.version_id, next_run_after = it.run_after,
           next_interval_start = it.interval_start, next_interval_end = it.interval_end,
           next_below = it.below, schedule_error = it.error, watched_since = it.watched_since,
           scheduled_since = least(it.since, clock_timestamp())
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:version_ids AS bigint[]),
                  CAST(:run_afters AS timestamptz[]), CAST(:starts AS timestamptz[]),
                  CAST(:ends AS timestamptz[]), CAST(:below AS int[]), CAST(:errors AS text[]),
                  CAST(:since AS timestamptz[]), CAST(:watched_since AS timestamptz[]))
           AS it (dag_id, version_id, run_after, interval_start, interval_end, below, error, since,
                  watched_since)
     WHERE dag.dag_id = it.dag_id
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
                  SELECT coalesce((SELECT CASE WHEN paused THEN 0 ELSE max_active_runs END
                                     FROM backfill WHERE id = lane.backfill_id),
                                  dag.max_active_runs)
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

STANDING = text("""
    SELECT max_active_runs,
           CASE WHEN paused THEN CAST(:now AS timestamptz) ELSE scheduled_since END
               AS scheduled_since,
           watched_since
      FROM dag WHERE dag_id = :dag_id
""")


@dataclass(frozen=True, slots=True)
class DueDag:
    """A locked DAG whose next runs are to be created, or whose next run is to be computed.

    `planned_version_id` is the version that its next run was computed by, if it was;
    `watched_since` is when the watch began that its standing takes into account.
    """

    dag_id: str
    version_id: int
    planned_version_id: int | None
    watched_since: datetime | None
    standing: Standing


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
    """Lock DAGs that need a run created or planned, the longest overdue and the latest in turn.

    DAGs of an `unreadable` version are left to a scheduler that can read it.
    """
    parameters = {"now": now, "limit": limit, "unreadable": list(unreadable)}
    rows = conn.execute(LOCK_DUE, {**parameters, **choice.parameters()})
    locked = {row.dag_id: row for row in rows}
    due = []
    for row in conn.execute(SCHEDULED, {"dag_ids": list(locked)}):
        dag = locked[row.dag_id]
        versions = dag.version_id, dag.planned_version_id
        due.append(DueDag(row.dag_id, *versions, row.watched_since, _standing(dag, row)))
    return due


def standing(conn: Connection, dag_id: str, now: datetime) -> Standing:
    """Return how a DAG stands: one that is paused, as if it were unpaused at `now`."""
    dag = conn.execute(STANDING, {"dag_id": dag_id, "now": now}).one()
    return _standing(dag, conn.execute(SCHEDULED, {"dag_ids": [dag_id]}).one())


def _standing(dag: Row[Any], row: Row[Any]) -> Standing:
    last = row.interval_start and DataInterval(row.interval_start, row.interval_end)
    since = dag.scheduled_since
    if row.watched_since not in {None, dag.watched_since}:  # there was a break since the last look
        since = max(since, row.watched_since)
    taken = [_taken(*it) for it in row.taken]
    return Standing(last, since, row.unfinished, dag.max_active_runs, taken)


def _taken(date: str, start: str, end: str, partitions: bool) -> Taken:
    moment = datetime.fromisoformat
    return Taken(moment(date), DataInterval(moment(start), moment(end)), partitions)


def plan(conn: Connection, plans: Collection[tuple[DueDag, Due]]) -> None:
    """Store what is next for locked DAGs, and when to look at them again."""
    following = [due.following for _, due in plans]
    conn.execute(
        PLAN,
        {
            "dag_ids": [dag.dag_id for dag, _ in plans],
            "version_ids": [dag.version_id for dag, _ in plans],
            "run_afters": [it.following.run_after if it.following else it.again for _, it in plans],
            "starts": [it and it.data_interval.start for it in following],
            "ends": [it and it.data_interval.end for it in following],
            "below": [due.below for _, due in plans],
            "errors": [due.error for _, due in plans],
            "since": [dag.standing.since for dag, _ in plans],
            "watched_since": [dag.watched_since for dag, _ in plans],
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
