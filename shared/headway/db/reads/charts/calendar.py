"""The runs of a DAG by day, and the intervals that its schedule has skipped.  Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, text

from headway.domain.dag.catchup import SkipReason
from headway.domain.states import RunState

MOST_SKIPPED: Final = 10_000
"""Rows of skipped intervals that are read at most."""

# `days` are the moments at which days begin, and the end of the last day.
RUNS = text("""
    SELECT width_bucket(schedule_date, CAST(:days AS timestamptz[])) AS day, state,
           count(*) AS runs
      FROM dag_run
     WHERE dag_id = :dag_id AND schedule_date >= :start AND schedule_date < :end
     GROUP BY day, state
     ORDER BY day, state
""")

SKIPPED = text("""
    SELECT it.first_start, it.interval_start AS last_start, it.interval_end, it.schedule_date,
           it.reason, run.run_id
      FROM skipped_interval AS it
      LEFT JOIN dag_run AS run ON run.id = it.dag_run_id
     WHERE it.dag_id = :dag_id AND it.schedule_date >= :start AND it.first_start < :end
     ORDER BY it.schedule_date, it.interval_start
     LIMIT :most
""")


@dataclass(frozen=True, slots=True)
class DayCount:
    """How many runs with a date on that day, counted from 0, are in a state."""

    day: int
    state: RunState
    runs: int


@dataclass(frozen=True, slots=True)
class SkippedView:
    """Intervals of a schedule without runs of their own, one after the other.

    The first of them begins at `first_start`, the last at `last_start`; the last one ends at
    `interval_end` and is of the date `schedule_date`.  `run_id` is the run that covers them, None
    unless they are rolled up into one.
    """

    first_start: datetime
    last_start: datetime
    interval_end: datetime
    schedule_date: datetime
    reason: SkipReason
    run_id: str | None


def runs_by_day(conn: Connection, dag_id: str, days: Sequence[datetime]) -> list[DayCount]:
    """Count the runs of each day; a day ends where the next one begins."""
    parameters = {"dag_id": dag_id, "days": list(days), "start": days[0], "end": days[-1]}
    return [
        DayCount(row.day - 1, RunState(row.state), row.runs)
        for row in conn.execute(RUNS, parameters)
    ]


def skipped(conn: Connection, dag_id: str, start: datetime, end: datetime) -> list[SkippedView]:
    """Return the intervals that were skipped between two moments."""
    parameters = {"dag_id": dag_id, "start": start, "end": end, "most": MOST_SKIPPED}
    return [
        SkippedView(**{**row, "reason": SkipReason(row["reason"])})
        for row in conn.execute(SKIPPED, parameters).mappings()
    ]
