"""SQL on the plans of backfills: what there is at their dates, and what becomes of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from headway.db.changes.run_changes import LockedRun
from headway.db.core import dag_lock
from headway.decide.changes.backfill import AS_IT_COMES, Existing, PlannedDate, Way
from headway.domain.interval import DataInterval
from headway.domain.states import RunState
from headway.timetables.base import DagRunInfo

# Whoever creates automated runs of a DAG holds its row: so what was looked at stays true.
# Backfills come first in the order of locks: runs that are in one may move to another.
LOCK_BACKFILLS = text("""
    SELECT FROM backfill WHERE dag_id = :dag_id ORDER BY id FOR NO KEY UPDATE
""")

# A run that a backfill, or catchup, has created over several intervals is for each of their dates.
# The hash is what the index of `dag_run_intervals_apart` begins with.
EXISTING = text("""
    SELECT id, schedule_date, run_id, state, interval_start, interval_end, partitions, version_id
      FROM dag_run
     WHERE dag_id = :dag_id AND run_type <> 'manual'
       AND schedule_date BETWEEN :first AND :last
     UNION
    SELECT id, schedule_date, run_id, state, interval_start, interval_end, partitions, version_id
      FROM dag_run
     WHERE hashtextextended(dag_id, 0) = hashtextextended(:dag_id, 0)
       AND dag_id = :dag_id AND partitions
       AND tstzrange(interval_start, interval_end) && tstzrange(:start, :end)
     UNION
    SELECT run.id, it.schedule_date, run.run_id, run.state, run.interval_start,
           run.interval_end, run.partitions, run.version_id
      FROM backfill
      JOIN backfill_date AS it ON it.backfill_id = backfill.id
      JOIN dag_run AS run ON run.id = it.dag_run_id
     WHERE backfill.dag_id = :dag_id AND backfill.rollup > 1 AND it.decision = 'create'
       AND it.schedule_date BETWEEN :first AND :last
     UNION
    SELECT run.id, asked.schedule_date, run.run_id, run.state, run.interval_start,
           run.interval_end, run.partitions, run.version_id
      FROM skipped_interval AS it
      JOIN dag_run AS run ON run.id = it.dag_run_id
      JOIN unnest(CAST(:dates AS timestamptz[]), CAST(:starts AS timestamptz[]))
           AS asked (schedule_date, interval_start)
        ON asked.interval_start BETWEEN it.first_start AND it.interval_start
     WHERE it.dag_id = :dag_id AND it.interval_end >= :start AND it.first_start <= :end
""")

LOCK_ENDED = text("""
    SELECT id, dag_id, run_id, state, version_id, pinned
      FROM dag_run
     WHERE id = ANY (:runs) AND state IN ('success', 'failed')
     ORDER BY id
       FOR NO KEY UPDATE
""")

CREATE = text("""
    INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned, reprocess,
                          direction, rollup, weight, idle_only)
    VALUES (:dag_id, :from_date, :to_date, :max_active_runs, 0, :reprocess, :direction, :rollup,
            :weight, :idle_only)
 RETURNING id
""")

# A run that is left alone is in no backfill of ours: it may be deleted at any moment.
STORE = text("""
    WITH run AS MATERIALIZED (
        SELECT id, run_id FROM dag_run
         WHERE dag_id = (SELECT dag_id FROM backfill WHERE id = :backfill)
           AND run_id = ANY (CAST(:run_ids AS text[]))
         ORDER BY id
           FOR KEY SHARE
    )
    INSERT INTO backfill_date (backfill_id, position, schedule_date, interval_start, interval_end,
                               decision, reason, run_id, dag_run_id)
    SELECT :backfill, it.position, it.schedule_date, it.interval_start, it.interval_end,
           it.decision, it.reason, it.run_id, run.id
      FROM unnest(CAST(:dates AS timestamptz[]), CAST(:starts AS timestamptz[]),
                  CAST(:ends AS timestamptz[]), CAST(:decisions AS text[]),
                  CAST(:reasons AS text[]), CAST(:run_ids AS text[])) WITH ORDINALITY
           AS it (schedule_date, interval_start, interval_end, decision, reason, run_id, position)
      LEFT JOIN run USING (run_id)
""")

# A run is in one backfill at a time: the one that it was asked to run in last.
TAKE = text("""
    WITH before AS (
        SELECT run.id, run.backfill_id, it.run_after
          FROM unnest(CAST(:runs AS bigint[]), CAST(:run_afters AS timestamptz[]))
               AS it (id, run_after)
          JOIN dag_run AS run USING (id)
    ), taken AS (
        UPDATE dag_run AS run
           SET backfill_id = :backfill, run_after = before.run_after,
               conf = coalesce(CAST(:conf AS json), conf)
          FROM before
         WHERE run.id = before.id
    ), moved AS (
        UPDATE task_instance AS task
           SET priority_class = (SELECT priority_class FROM backfill WHERE id = :backfill),
               limited = true
          FROM before
         WHERE task.dag_run_id = before.id
    )
    UPDATE backfill SET planned = planned - its.runs
      FROM (SELECT backfill_id, count(*) AS runs FROM before GROUP BY backfill_id) AS its
     WHERE backfill.id = its.backfill_id
""")


@dataclass(frozen=True, slots=True)
class NewBackfill:
    """A backfill to enter: its range, how it is planned, and what its tasks may take."""

    dag_id: str
    from_date: datetime
    to_date: datetime
    max_active_runs: int
    way: Way = AS_IT_COMES
    weight: int = 100
    idle_only: bool = False


def lock_dag(conn: Connection, dag_id: str) -> None:
    """Keep everybody else from creating automated runs of the DAG, in this transaction."""
    conn.execute(LOCK_BACKFILLS, {"dag_id": dag_id})
    dag_lock.lock_dag(conn, dag_id)


def existing(conn: Connection, dag_id: str, infos: Sequence[DagRunInfo]) -> list[Existing]:
    """Return the automated runs at these dates, and those whose interval overlaps their span."""
    rows = conn.execute(
        EXISTING,
        {
            "dag_id": dag_id,
            "first": min(info.run_after for info in infos),
            "last": max(info.run_after for info in infos),
            "start": min(info.data_interval.start for info in infos),
            "end": max(info.data_interval.end for info in infos),
            "dates": [info.run_after for info in infos],
            "starts": [info.data_interval.start for info in infos],
        },
    )
    return [
        Existing(
            row.id,
            row.schedule_date,
            row.run_id,
            RunState(row.state),
            DataInterval(row.interval_start, row.interval_end),
            row.partitions,
            row.version_id,
        )
        for row in rows
    ]


def lock_ended(conn: Connection, runs: Sequence[int]) -> list[LockedRun]:
    """Lock those of these runs that have ended; return them, by id."""
    rows = conn.execute(LOCK_ENDED, {"runs": list(runs)})
    return [
        LockedRun(row.id, row.dag_id, row.run_id, RunState(row.state), row.version_id, row.pinned)
        for row in rows
    ]


def create(conn: Connection, new: NewBackfill) -> int:
    """Enter a backfill and return its id; its runs are created in the same transaction."""
    backfill_id: int = conn.execute(
        CREATE,
        {
            "dag_id": new.dag_id,
            "from_date": new.from_date,
            "to_date": new.to_date,
            "max_active_runs": new.max_active_runs,
            "reprocess": str(new.way.reprocess),
            "direction": str(new.way.direction),
            "rollup": new.way.rollup,
            "weight": new.weight,
            "idle_only": new.idle_only,
        },
    ).scalar_one()
    return backfill_id


def store(
    conn: Connection, backfill: int, dates: Sequence[PlannedDate], run_ids: Sequence[str | None]
) -> None:
    """Store what becomes of each date, and in which run, in the order of the plan."""
    intervals = [date.info.data_interval for date in dates]
    conn.execute(
        STORE,
        {
            "backfill": backfill,
            "dates": [date.info.run_after for date in dates],
            "starts": [interval.start for interval in intervals],
            "ends": [interval.end for interval in intervals],
            "decisions": [str(date.decision) for date in dates],
            "reasons": [date.reason for date in dates],
            "run_ids": list(run_ids),
        },
    )


def take(
    conn: Connection, backfill: int, runs: Mapping[int, datetime], conf: str | None = None
) -> None:
    """Put locked runs into the backfill, out of those that they were in, to start by these times.

    Unless `conf` is None it is theirs, as JSON, from then on.
    """
    parameters = {"runs": list(runs), "run_afters": list(runs.values())}
    conn.execute(TAKE, {**parameters, "backfill": backfill, "conf": conf})
