"""Delete a DAG with its whole history; ask for the file of one to be parsed."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Final

from sqlalchemy import Connection

from headway.actions.change import Author
from headway.actions.lookup import current_dag
from headway.db.core import events
from headway.db.core.events import Event
from headway.db.reads import dag_views
from headway.db.reads.dag_views import DagExtent
from headway.db.users import dag_changes, removal, secrets
from headway.db.users.dag_changes import LockedDag
from headway.domain.arguments import JsonValue
from headway.domain.errors import DagNotFoundError, StillActiveError
from headway.domain.hints import Action, Parameter, act, hint

INSTANCES: Final = 10_000
"""Task instances that one transaction deletes, or one run, if that has more."""

RUNS: Final = 500
VERSIONS: Final = 10

Step = Callable[[Connection], bool]


def begin_deletion(conn: Connection, dag_id: str, author: Author, *, anyway: bool) -> DagExtent:
    """Check that the DAG may be deleted, write the event of it, and pause it until it is.

    ConflictError while runs of it have not ended, and while a file defines it, unless that
    is meant (`anyway`): it starts then without a history.
    """
    dag = _lock(conn, dag_id)
    if dag.active and not anyway:
        raise StillActiveError(
            f"DAG {dag_id} is defined in {dag.relative_path} (bundle {dag.bundle}), and would come "
            "back with the next parse of that.",
            hint=hint(
                *("Remove it there first; or add ", Parameter("anyway")),
                " to delete its history alone.",
            ),
        )
    _check_ended(conn, dag_id)
    extent = dag_views.extent(conn, dag_id)
    details: dict[str, JsonValue] = {**asdict(extent), "anyway": anyway}
    if author.reason is not None:
        details["reason"] = author.reason
    events.add(conn, Event(actor=author.actor, action="dag.delete", dag_id=dag_id, details=details))
    dag_changes.set_paused(conn, dag_id, paused=True)
    return extent


def continue_deletion(conn: Connection, dag_id: str) -> bool:
    """Delete a part of the DAG's history; False when the DAG itself has gone with the last one.

    Each part is for a transaction of its own: whatever happens in between, what is left is
    the DAG, paused, with less of its history, and may be deleted again.
    """
    if removal.delete_runs(conn, dag_id, INSTANCES, RUNS):
        return True
    dag = _lock(conn, dag_id)
    _check_ended(conn, dag_id)
    if removal.delete_versions(conn, dag_id, VERSIONS) or dag_views.extent(conn, dag_id).runs:
        return True
    removal.delete_dag(conn, dag_id)
    secrets.revoke_dag(conn, dag_id)  # whoever uses the name next must be granted anew
    if dag.active:
        dag_changes.request_parse(conn, dag)
    return False


def reparse(conn: Connection, dag_id: str, author: Author) -> str:
    """Have the DAG's file parsed soon, even if it has not changed; return its path."""
    dag = _lock(conn, dag_id)
    if not dag.active or not dag_changes.request_parse(conn, dag):
        raise DagNotFoundError(f"No file that a parser knows defines DAG {dag_id} any more.")
    events.add(
        conn,
        Event(
            actor=author.actor,
            action="dag.reparse",
            dag_id=dag_id,
            details={} if author.reason is None else {"reason": author.reason},
        ),
    )
    return dag.relative_path


def _lock(conn: Connection, dag_id: str) -> LockedDag:
    dag = dag_changes.lock_dag(conn, dag_id)
    if dag is None:
        current_dag(conn, dag_id)
        raise DagNotFoundError(f"DAG {dag_id} was deleted just now.")
    return dag


def _check_ended(conn: Connection, dag_id: str) -> None:
    unfinished = removal.unfinished(conn, dag_id)
    if unfinished:
        cancel = act(Action.CANCEL_RUN, dag_id=dag_id, run_id=unfinished[0])
        raise StillActiveError(
            f"Runs of DAG {dag_id} have not ended: {', '.join(unfinished)}.",
            hint=hint("Cancel them first, with ", cancel, "."),
        )
