"""Which task instances a change reaches: those that stand otherwise after it than before."""

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from sqlalchemy import Connection

from headway.db.reads.pages import task_pages
from headway_api.airflow.instances.models import ShownTaskInstances
from headway_api.auth.caller import Caller

Reach: TypeAlias = Callable[[Connection], Sequence[int]]
"""A change that returns the numbers of the task instances that it reaches."""


def would_change(caller: Caller, change: Reach) -> ShownTaskInstances:
    """Rehearse a change; return the task instances that it reaches, as they stand."""
    ids = list(caller.change(change, dry_run=True))
    rows = caller.read(lambda conn: task_pages.numbered(conn, caller.bundles, ids))
    return ShownTaskInstances.all(rows)


def after_change(caller: Caller, conn: Connection, change: Reach) -> ShownTaskInstances:
    """Carry out a change; return the task instances that it reached, as they stand."""
    return ShownTaskInstances.all(task_pages.numbered(conn, caller.bundles, list(change(conn))))


def of_run(dag_id: str, run_id: str, work: Callable[[Connection], object]) -> Reach:
    """Return the change to a run that `work` carries out."""
    return lambda conn: reached(conn, dag_id, [run_id], work)


def reached(
    conn: Connection,
    dag_id: str,
    run_ids: Sequence[str],
    work: Callable[[Connection], object],
    tasks: Collection[str] | None = None,
) -> Sequence[int]:
    """Change runs of a DAG; return the numbers of the task instances that stand otherwise then.

    The change touches no others than those of `tasks`, if these are given.
    """
    before = task_pages.instance_states(conn, dag_id, run_ids, tasks)
    work(conn)
    after = task_pages.instance_states(conn, dag_id, run_ids, tasks)
    return [number for number, state in before.items() if after.get(number) != state]
