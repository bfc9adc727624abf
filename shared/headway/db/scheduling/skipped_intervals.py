"""SQL on the intervals of a schedule that have no run of their own."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, text

from headway.decide.explain.snapshot import SkippedRow
from headway.decide.scheduling.due_plan import SkippedInterval
from headway.domain.dag.catchup import SkipReason
from headway.timetables.base import DagRunInfo

ADD = text("""
    INSERT INTO skipped_interval (dag_id, schedule_date, first_start, interval_start, interval_end,
                                 reason)
    SELECT :dag_id, it.*
      FROM unnest(CAST(:dates AS timestamptz[]), CAST(:firsts AS timestamptz[]),
                  CAST(:starts AS timestamptz[]), CAST(:ends AS timestamptz[]),
                  CAST(:reasons AS text[])) AS it
        ON CONFLICT DO NOTHING
""")

COVER = text("""
    INSERT INTO skipped_interval (dag_id, schedule_date, first_start, interval_start, interval_end,
                                 reason, dag_run_id)
    SELECT dag_id, :schedule_date, :first_start, :interval_start, :interval_end, 'rollup', id
      FROM dag_run
     WHERE dag_id = :dag_id AND run_id = :run_id
        ON CONFLICT DO NOTHING
""")

OF = text("""
    SELECT skipped.first_start, skipped.interval_end, skipped.reason, skipped.at, run.run_id
      FROM skipped_interval AS skipped
      LEFT JOIN dag_run AS run ON run.id = skipped.dag_run_id
     WHERE skipped.dag_id = :dag_id AND skipped.first_start <= :start
       AND skipped.interval_start >= :start
     ORDER BY skipped.schedule_date
     LIMIT 1
""")


def add(conn: Connection, dag_id: str, skipped: Sequence[SkippedInterval]) -> None:
    """Enter what gets no run of its own, nor is covered by another one."""
    if skipped:
        conn.execute(
            ADD,
            {
                "dag_id": dag_id,
                "dates": [interval.last.run_after for interval in skipped],
                "firsts": [interval.first for interval in skipped],
                "starts": [interval.last.data_interval.start for interval in skipped],
                "ends": [interval.last.data_interval.end for interval in skipped],
                "reasons": [str(interval.reason) for interval in skipped],
            },
        )


def cover(conn: Connection, dag_id: str, run_id: str, infos: Sequence[DagRunInfo]) -> None:
    """Enter that this run covers these intervals, which follow each other: one record for all."""
    first, last = infos[0].data_interval, infos[-1]
    conn.execute(
        COVER,
        {
            "dag_id": dag_id,
            "run_id": run_id,
            "schedule_date": last.run_after,
            "first_start": first.start,
            "interval_start": last.data_interval.start,
            "interval_end": last.data_interval.end,
        },
    )


def of(conn: Connection, dag_id: str, start: datetime) -> SkippedRow | None:
    """Return what became of the interval that starts then, if it has no run of its own."""
    row = conn.execute(OF, {"dag_id": dag_id, "start": start}).one_or_none()
    if row is None:
        return None
    return SkippedRow(
        first_start=row.first_start,
        end=row.interval_end,
        reason=SkipReason(row.reason),
        at=row.at,
        run_id=row.run_id,
    )
