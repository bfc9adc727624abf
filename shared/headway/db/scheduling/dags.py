"""SQL on DAGs: the version in force, and when the next run falls due."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, text

from headway.db.core.prepared import hot
from headway.db.scheduling.scope import ANY_DAG, KeyFilter
from headway.decide.scheduling.backfilled import BackfilledInterval
from headway.decide.scheduling.due_plan import DueRuns, ScheduleState
from headway.domain.interval import DataInterval

# A DAG is to be planned when its next run is due and may be created, or when what
# its next run was computed from has changed.  Queued and running runs, here and below, are
# counted apart, for each has an index of its own; together they would be sought among all.
# Half of the DAGs are those that fell due last: so after an outage, when there is much to be
# created of many, what falls due now does not wait for it.  The others are those to be planned
# and those overdue for longest.  Each part locks what it takes and reads no further; the parts
# have their turns, one DAG each, should a pass not get through all of them.  It is
# planned each time: a plan that is kept knows no limit, and would sort all that are due.
LOCK_DUE = text("""
    WITH latest AS MATERIALIZED (
        SELECT dag_id, version_id, planned_version_id, max_active_runs, scheduled_since,
               looked_at_since
          FROM dag
         WHERE active AND NOT paused AND next_run_after <= :now
           AND (SELECT count(*) FROM dag_run
                 WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
                   AND backfill_id IS NULL AND state = 'queued')
               + (SELECT count(*) FROM dag_run
                   WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
                     AND backfill_id IS NULL AND state = 'running')
               < coalesce(next_run_below, max_active_runs)
           AND NOT version_id = ANY (CAST(:unreadable AS bigint[]))
           AND NOT dag_id = ANY (CAST(:aside AS text[]))
           AND (CAST(:only AS text[]) IS NULL OR dag_id = ANY (CAST(:only AS text[])))
         ORDER BY next_run_after DESC, dag_id DESC
         LIMIT CAST(:limit AS int) / 2
           FOR NO KEY UPDATE SKIP LOCKED
    ), changed AS MATERIALIZED (
        SELECT dag_id, version_id, planned_version_id, max_active_runs, scheduled_since,
               looked_at_since
          FROM dag
         WHERE active AND NOT paused AND planned_version_id IS DISTINCT FROM version_id
           AND NOT version_id = ANY (CAST(:unreadable AS bigint[]))
           AND NOT dag_id = ANY (CAST(:aside AS text[]))
           AND (CAST(:only AS text[]) IS NULL OR dag_id = ANY (CAST(:only AS text[])))
         ORDER BY dag_id
         LIMIT :limit - (SELECT count(*) FROM latest)
           FOR NO KEY UPDATE SKIP LOCKED
    ), longest AS MATERIALIZED (
        SELECT dag_id, version_id, planned_version_id, max_active_runs, scheduled_since,
               looked_at_since
          FROM dag
         WHERE active AND NOT paused AND next_run_after <= :now
           AND (SELECT count(*) FROM dag_run
                 WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
                   AND backfill_id IS NULL AND state = 'queued')
               + (SELECT count(*) FROM dag_run
                   WHERE dag_run.dag_id = dag.dag_id AND run_type = 'scheduled'
                     AND backfill_id IS NULL AND state = 'running')
               < coalesce(next_run_below, max_active_runs)
           AND NOT version_id = ANY (CAST(:unreadable AS bigint[]))
           AND NOT dag_id = ANY (CAST(:aside AS text[]))
           AND (CAST(:only AS text[]) IS NULL OR dag_id = ANY (CAST(:only AS text[])))
         ORDER BY next_run_after, dag_id
         LIMIT :limit - (SELECT count(*) FROM latest) - (SELECT count(*) FROM changed)
           FOR NO KEY UPDATE SKIP LOCKED
    )
    SELECT latest.*, row_number() OVER () AS nth, 1 AS part FROM latest
     UNION ALL
    SELECT changed.*, row_number() OVER () AS nth, 2 AS part FROM changed
     UNION ALL
    SELECT longest.*, row_number() OVER () AS nth, 3 AS part FROM longest
     ORDER BY nth, part
""")


# The interval that was dealt with last may have no run of its own: it was skipped, or a run
# covers it with others.  It is the one that ends last: by another schedule it may have been dated
# later than those that follow it now.
SCHEDULED = text("""
    SELECT dag.dag_id, last.interval_start, last.interval_end,
           (SELECT since FROM scheduler_uptime) AS up_since,
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
                    AND it.decision = 'create'
                    AND it.interval_end > coalesce(last.interval_end, '-infinity'))) AS backfilled,
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
               (SELECT interval_start, interval_end, schedule_date, false FROM skipped_interval
                 WHERE skipped_interval.dag_id = dag.dag_id
                 ORDER BY interval_end DESC, schedule_date DESC, interval_start DESC
                 LIMIT 1)) AS either
            ORDER BY interval_end DESC, schedule_date DESC, own
            LIMIT 1) AS last ON true
""")


# `scheduled_since` is the time by which the DAG was judged: what falls due after the first look
# was not missed.
PLAN = hot("""
    UPDATE dag
       SET planned_version_id = it.version_id, next_run_after = it.run_after,
           next_interval_start = it.interval_start, next_interval_end = it.interval_end,
           next_run_below = it.below, schedule_error = it.error,
           looked_at_since = it.looked_at_since,
           scheduled_since = least(it.since, clock_timestamp())
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:version_ids AS bigint[]),
                  CAST(:run_afters AS timestamptz[]), CAST(:starts AS timestamptz[]),
                  CAST(:ends AS timestamptz[]), CAST(:below AS int[]), CAST(:errors AS text[]),
                  CAST(:since AS timestamptz[]), CAST(:looked_at_since AS timestamptz[]))
           AS it (dag_id, version_id, run_after, interval_start, interval_end, below, error, since,
                  looked_at_since)
     WHERE dag.dag_id = it.dag_id
""")


LOCK_PLACES = hot("""
    SELECT dag_id, max_active_tasks, paused
      FROM dag
     WHERE dag_id = ANY (:dag_ids)
     ORDER BY dag_id
       FOR NO KEY UPDATE SKIP LOCKED
""")


SCHEDULE_STATE = text("""
    SELECT max_active_runs,
           CASE WHEN paused THEN CAST(:now AS timestamptz) ELSE scheduled_since END
               AS scheduled_since,
           looked_at_since
      FROM dag WHERE dag_id = :dag_id
""")


@dataclass(frozen=True, slots=True)
class DueDag:
    """A locked DAG whose next runs are to be created, or whose next run is to be computed.

    `planned_version_id` is the version that its next run was computed by, if it was;
    `looked_at_since` is the `since` of `scheduler_uptime` that its state takes into account.
    """

    dag_id: str
    version_id: int
    planned_version_id: int | None
    looked_at_since: datetime | None
    schedule_state: ScheduleState


def lock_due(
    conn: Connection,
    now: datetime,
    limit: int,
    unreadable: Collection[int] = (),
    choice: KeyFilter[str] = ANY_DAG,
) -> list[DueDag]:
    """Lock DAGs that need a run created or planned, the longest overdue and the latest in turn.

    DAGs of an `unreadable` version are left to a scheduler that can read it.
    """
    parameters = {"now": now, "limit": limit, "unreadable": list(unreadable)}
    rows = conn.execute(LOCK_DUE, {**parameters, **choice.parameters()})
    locked: dict[str, Row[Any]] = {}
    for row in rows:
        locked.setdefault(row.dag_id, row)  # the latest may be among the longest overdue
    found = {
        schedule.dag_id: schedule for schedule in conn.execute(SCHEDULED, {"dag_ids": list(locked)})
    }
    due = []
    for dag_id, dag in locked.items():
        versions, row = (dag.version_id, dag.planned_version_id), found[dag_id]
        due.append(DueDag(dag_id, *versions, row.up_since, _schedule_state(dag, row)))
    return due


def schedule_state(conn: Connection, dag_id: str, now: datetime) -> ScheduleState:
    """Return how a DAG stands: one that is paused, as if it were unpaused at `now`."""
    dag = conn.execute(SCHEDULE_STATE, {"dag_id": dag_id, "now": now}).one()
    return _schedule_state(dag, conn.execute(SCHEDULED, {"dag_ids": [dag_id]}).one())


def _schedule_state(dag: Row[Any], row: Row[Any]) -> ScheduleState:
    last = row.interval_start and DataInterval(row.interval_start, row.interval_end)
    since = dag.scheduled_since
    if row.up_since not in {None, dag.looked_at_since}:  # there was a break since the last look
        since = max(since, row.up_since)
    backfilled = [_backfilled_interval(*interval) for interval in row.backfilled]
    return ScheduleState(last, since, row.unfinished, dag.max_active_runs, backfilled)


def _backfilled_interval(date: str, start: str, end: str, partitions: bool) -> BackfilledInterval:
    moment = datetime.fromisoformat
    return BackfilledInterval(moment(date), DataInterval(moment(start), moment(end)), partitions)


def plan(conn: Connection, plans: Collection[tuple[DueDag, DueRuns]]) -> None:
    """Store what is next for locked DAGs, and when to look at them again."""
    following = [due.following for _, due in plans]
    conn.execute(
        PLAN,
        {
            "dag_ids": [dag.dag_id for dag, _ in plans],
            "version_ids": [dag.version_id for dag, _ in plans],
            "run_afters": [
                runs.following.run_after if runs.following else runs.again for _, runs in plans
            ],
            "starts": [info and info.data_interval.start for info in following],
            "ends": [info and info.data_interval.end for info in following],
            "below": [due.below for _, due in plans],
            "errors": [due.error for _, due in plans],
            "since": [dag.schedule_state.since for dag, _ in plans],
            "looked_at_since": [dag.looked_at_since for dag, _ in plans],
        },
    )


def lock_places(conn: Connection, dag_ids: Collection[str]) -> dict[str, int]:
    """Lock these DAGs and return how many tasks each may have active.

    A DAG that another scheduler holds is left out; a paused one has no place.  What is
    taken is to be counted in the next statement.
    """
    rows = conn.execute(LOCK_PLACES, {"dag_ids": sorted(dag_ids)})
    return {row.dag_id: 0 if row.paused else row.max_active_tasks for row in rows}
