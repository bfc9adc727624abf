"""Pause, resume and cancel a backfill."""

from dataclasses import dataclass

from sqlalchemy import Connection

from headway.actions.change import Author
from headway.actions.runs.cancel import cancel_run
from headway.db.core import events
from headway.db.core.events import Event
from headway.db.reads import backfill_views
from headway.db.reads.backfill_views import BackfillProgress
from headway.db.users import backfill_plans, backfills
from headway.domain.arguments import JsonValue
from headway.domain.errors import AlreadyEndedError, BackfillNotFoundError
from headway.domain.hints import Action, act, hint


@dataclass(frozen=True, slots=True)
class CancelledBackfill:
    """How many runs are gone that had not begun, and how many others are ended.

    The schedule skipped so many intervals of those that are gone: it leaves them out.
    """

    dropped: int
    ended: int
    skipped: int = 0


def set_backfill_paused(
    conn: Connection, backfill_id: int, author: Author, *, paused: bool
) -> bool:
    """Have a backfill start no more runs, or go on; return whether that changed anything.

    What runs already goes on to its end.  ConflictError when the backfill has ended.
    """
    progress = _lock_unfinished(conn, backfill_id)
    if progress.paused == paused:
        return False
    _tell(conn, progress, "backfill.pause" if paused else "backfill.resume", author)
    backfills.set_paused(conn, backfill_id, paused=paused)
    return True


def cancel_backfill(conn: Connection, backfill_id: int, author: Author) -> CancelledBackfill:
    """End a backfill: runs that have not begun are deleted, all others cancelled.

    ConflictError when it has ended.
    """
    progress = _lock_unfinished(conn, backfill_id)
    _tell(conn, progress, "backfill.cancel", author)
    dropped = backfills.cancel(conn, backfill_id)
    for run_id in dropped.left:
        cancel_run(conn, progress.dag_id, run_id, author)
    if dropped.runs:
        backfills.wake_running(conn, progress.dag_id)
    return CancelledBackfill(dropped.runs, len(dropped.left), dropped.skipped)


def progress_of(conn: Connection, backfill_id: int) -> BackfillProgress:
    """Return how far a backfill has come; NotFoundError without it."""
    found = backfill_views.progress(conn, backfill_id)
    if not found:
        raise no_backfill(backfill_id)
    return found[0]


def no_backfill(backfill_id: int) -> BackfillNotFoundError:
    """Return the error for a backfill that is not there."""
    return BackfillNotFoundError(
        f"There is no backfill {backfill_id}.",
        hint=hint(act(Action.LIST_BACKFILLS), " shows them all."),
    )


def _lock_unfinished(conn: Connection, backfill_id: int) -> BackfillProgress:
    dag_id = backfills.dag_of(conn, backfill_id)
    if dag_id is not None:
        # With the DAG nobody starts runs of it, nor creates any, until this is committed.
        backfill_plans.lock_dag(conn, dag_id)
    progress = progress_of(conn, backfill_id)
    if progress.finished or progress.cancelled_at is not None:
        another = act(
            Action.CREATE_BACKFILL,
            dag_id=progress.dag_id,
            from_date=progress.from_date.isoformat(),
            to_date=progress.to_date.isoformat(),
        )
        raise AlreadyEndedError(
            f"Backfill {backfill_id} is {progress.state}: it starts no runs any more.",
            hint=hint(another, " makes another one over that time."),
        )
    return progress


def _tell(conn: Connection, progress: BackfillProgress, action: str, author: Author) -> None:
    details: dict[str, JsonValue] = {"backfill": progress.id}
    if author.reason is not None:
        details["reason"] = author.reason
    events.add(
        conn, Event(actor=author.actor, action=action, dag_id=progress.dag_id, details=details)
    )
