"""Delete a run with all that it has left in the database."""

from sqlalchemy import Connection

from headway.actions.change import Author, JournalEntry, enter
from headway.actions.lookup import lock_run
from headway.db.changes import run_changes, run_end
from headway.db.core import dag_lock
from headway.db.scheduling import wakes
from headway.domain.errors import StillActiveError
from headway.domain.hints import Action, act, hint


def delete_run(conn: Connection, dag_id: str, run_id: str, author: Author) -> int:
    """Delete a run with its task instances, attempts and XComs; return how many instances.

    The events about it stay.  ConflictError while an attempt is live: its slots are held
    until it has ended, and it must have a row to end in.
    """
    run_end.lock_backfill(conn, dag_id, run_id)
    dag_lock.lock_dag(conn, dag_id)
    run = lock_run(conn, dag_id, run_id)
    instances = run_changes.lock_instances(conn, [run])
    live = [instance for instance in instances if instance.phase is not None]
    if live:
        more = f" (and {len(live) - 1} more)" if len(live) > 1 else ""
        cancel = act(Action.CANCEL_RUN, dag_id=dag_id, run_id=run_id)
        raise StillActiveError(
            f"Run {run_id} cannot be deleted while {live[0].name} is {live[0].state}{more}.",
            hint=hint("Cancel it first, with ", cancel, ", and delete it when it has stopped."),
        )
    following = run_end.following(conn, run.id)
    enter(conn, run, JournalEntry(author, "run.delete"), instances)
    run_end.delete(conn, run.id)
    wakes.add(conn, following)
    return len(instances)
