"""Look at an installation as a whole."""

from sqlalchemy import Connection

from headway.actions.installation import processes
from headway.db.reads import explain_task, status
from headway.decide.explain.status import Status
from headway.runtime.settings.scheduler import SchedulerSettings


def look(conn: Connection, settings: SchedulerSettings) -> Status:
    """Return how all of it stands; `settings` are what the schedulers are taken to go by.

    The transaction may only read from here on.  The cost has a bound, however many task
    instances there are.
    """
    explain_task.read_only(conn)
    return Status(
        processes=processes.unended(conn, settings, *processes.KINDS),
        waiting=status.waiting(conn, settings.priority_aging),
        pools=status.pools(conn),
        queues=status.queues(conn),
        backlog=status.backlog(conn),
        trouble=status.trouble(conn),
    )
