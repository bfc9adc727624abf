"""Have a worker take no more, finish what it has, and end."""

from sqlalchemy import Connection

from headway.actions.change import Author
from headway.db.core import events, processes
from headway.db.core.events import Event
from headway.domain.arguments import JsonValue
from headway.domain.errors import WorkerNotFoundError
from headway.domain.hints import Action, act, hint


def drain_worker(conn: Connection, worker: int, author: Author) -> None:
    """Tell a worker to drain; one that does so already goes on.  NotFoundError without it."""
    if not processes.drain(conn, worker):
        raise WorkerNotFoundError(
            f"There is no worker {worker} running.",
            hint=hint(act(Action.LIST_WORKERS), " shows those that are."),
        )
    details: dict[str, JsonValue] = {"process": worker}
    if author.reason is not None:
        details["reason"] = author.reason
    events.add(conn, Event(actor=author.actor, action="worker.drain", details=details))
