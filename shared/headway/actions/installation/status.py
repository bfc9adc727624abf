"""Look at an installation as a whole."""

from sqlalchemy import Connection

from headway.actions.installation import processes
from headway.db.reads import status
from headway.db.reads.explain import task_state
from headway.decide.explain import status as reports
from headway.decide.explain.status import Status, StatusReport
from headway.runtime.settings.scheduler import SchedulerSettings


def look(conn: Connection, settings: SchedulerSettings) -> Status:
    """Return how all of it stands; `settings` are what the schedulers are taken to go by.

    The transaction may only read from here on.  The cost has a bound, however many task
    instances there are.
    """
    task_state.read_only(conn)
    return Status(
        processes=processes.unended(conn, settings, *processes.KINDS),
        waiting=status.waiting(conn, settings.priority_aging),
        pools=status.pools(conn),
        queues=status.queues(conn),
        backlog=status.backlog(conn),
        trouble=status.trouble(conn),
    )


def report(conn: Connection, settings: SchedulerSettings, patience: float) -> StatusReport:
    """Return how all of it stands, and what has waited for more than `patience` seconds."""
    return reports.report(look(conn, settings), patience, status.MOST)
