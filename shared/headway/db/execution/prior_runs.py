"""SQL on the runs of a schedule before another one."""

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.domain.interval import DataInterval, PriorRun

# From date to date by the index of automated runs: few have failed since the last success.
LAST_SUCCESS = hot("""
    SELECT prior.interval_start, prior.interval_end, prior.started_at, prior.ended_at
      FROM dag_run AS this
     CROSS JOIN LATERAL (
           SELECT interval_start, interval_end, started_at, ended_at
             FROM dag_run
            WHERE dag_id = this.dag_id AND run_type <> 'manual'
              AND schedule_date < this.schedule_date AND state = 'success'
            ORDER BY schedule_date DESC
            LIMIT 1) AS prior
     WHERE this.id = :run
""")


def last_success(conn: Connection, run: int) -> PriorRun | None:
    """Return the last automated run before this one, by date, that has succeeded so far."""
    row = conn.execute(LAST_SUCCESS, {"run": run}).one_or_none()
    if row is None:
        return None
    interval = DataInterval(row.interval_start, row.interval_end)
    return PriorRun(interval, row.started_at, row.ended_at)
