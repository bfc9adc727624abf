"""The processes of an installation, by what its schedulers go by."""

from typing import Final

from sqlalchemy import Connection

from headway.db.reads.explain import task_state
from headway.decide.explain.snapshot import ProcessRow
from headway.runtime.settings.scheduler import SchedulerSettings

KINDS: Final = ("scheduler", "backfill", "worker", "parser", "api")
"""All kinds of processes."""


def unended(
    conn: Connection,
    settings: SchedulerSettings,
    *kinds: str,
    queue: str | None = None,
    number: int | None = None,
) -> list[ProcessRow]:
    """Return those processes of these kinds, or the one, that have not ended."""
    known = {
        "threshold": settings.scheduler_health_check_threshold,
        "parallelism": settings.parallelism,
        "max_clock_skew": settings.max_clock_skew,
    }
    return task_state.processes(conn, known, kinds, queue=queue, number=number)
