"""Runs that schedulers get through: entered in one transaction, timed to the last end."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import text

from benchmarks.support.fleet import PATIENCE, Fleet
from benchmarks.support.meter import Meter, Spent
from benchmarks.support.shapes import enter_runs
from headway.db.access.logins import Login
from headway.db.core import notices

FEW: Final = 2000
SLOWEST: Final = 500.0
"""Task instances a second: what is slower than that has got stuck."""

_XID: Final = text("SELECT pg_current_xact_id()::xid")
_COMMITTED: Final = text("SELECT extract(epoch FROM pg_xact_commit_timestamp(CAST(:xid AS xid)))")
_ENDED: Final = text("""
    SELECT extract(epoch FROM max(pg_xact_commit_timestamp(xmin)))
      FROM dag_run WHERE id > :after AND state = 'success'
""")
_LAST_RUN: Final = text("SELECT coalesce(max(id), 0) FROM dag_run")
_LAST_TASK: Final = text("SELECT coalesce(max(id), 0) FROM task_instance")
_UNFINISHED: Final = text("""
    SELECT EXISTS (SELECT FROM dag_run WHERE state = 'queued' AND id > :after)
        OR EXISTS (SELECT FROM dag_run WHERE state = 'running' AND id > :after)
""")
_SUCCESSES: Final = text("""
    SELECT count(*) FROM task_instance WHERE id > :after AND state = 'success'
""")
_FIRST_START: Final = text("""
    SELECT extract(epoch FROM min(started_at)) FROM task_instance WHERE id > :after
""")
_SHARES: Final = text("""
    SELECT count(*) FROM task_attempt WHERE task_instance_id > :after GROUP BY scheduler_id
""")


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement of a shape's runs."""

    seconds: float
    first_start: float
    spent: Spent
    largest_share: float


def measure_runs(services: Fleet, dags: dict[str, int], hours: range, instances: int) -> Measured:
    """Enter runs in one transaction, let them end, and tell what that took.

    The time is that between two commits, as the server has stamped them: that of the runs'
    entry, in state queued, and that of the last run's end.
    """
    database = services.database
    with database.owner.connect() as conn:
        last_run, last_task = conn.scalar(_LAST_RUN), conn.scalar(_LAST_TASK)
    meter = Meter(database.owner, database.postmaster, Login.SCHEDULER, services.pids)
    meter.start()
    with database.owner.begin() as conn:
        enter_runs(conn, dags, hours)
        xid = conn.scalar(_XID)
    if services.wakes:
        notices.send(database.owner, [notices.SCHEDULER])
    services.until(
        lambda conn: not conn.scalar(_UNFINISHED, {"after": last_run}),
        "all runs ended",
        every=0.02 if instances <= FEW else 0.05,
        patience=PATIENCE + instances / SLOWEST,
    )
    spent = meter.read()
    with database.owner.connect() as conn:
        started = conn.scalar(_COMMITTED, {"xid": str(xid)})
        ended = conn.scalar(_ENDED, {"after": last_run})
        succeeded = conn.scalar(_SUCCESSES, {"after": last_task})
        if succeeded != instances:
            raise RuntimeError(f"{succeeded} of {instances} task instances succeeded")
        first_start = conn.scalar(_FIRST_START, {"after": last_task})
        share = max(conn.scalars(_SHARES, {"after": last_task})) / instances
    return Measured(float(ended - started), float(first_start - started), spent, share)
