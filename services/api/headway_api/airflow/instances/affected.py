"""Which task instances a change reaches: those that stand otherwise after it than before."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from headway.db.reads.pages import task_pages
from headway_api.airflow.instances.models import ShownTaskInstances
from headway_api.auth.caller import Caller


def would_change(
    caller: Caller, dag_id: str, run_id: str, work: Callable[[Connection], object]
) -> ShownTaskInstances:
    """Rehearse a change to a run; return the task instances that it reaches, as they stand."""

    def rehearsed(conn: Connection) -> Sequence[int]:
        return _reached(conn, dag_id, run_id, work)

    ids = list(caller.change(rehearsed, dry_run=True))
    rows = caller.read(lambda conn: task_pages.numbered(conn, caller.bundles, ids))
    return ShownTaskInstances.all(rows)


def after_change(
    caller: Caller,
    conn: Connection,
    where: tuple[str, str],
    work: Callable[[Connection], object],
) -> ShownTaskInstances:
    """Change a run (`where`: DAG and run id); return the task instances reached, as they stand."""
    ids = list(_reached(conn, *where, work))
    return ShownTaskInstances.all(task_pages.numbered(conn, caller.bundles, ids))


def _reached(
    conn: Connection, dag_id: str, run_id: str, work: Callable[[Connection], object]
) -> Sequence[int]:
    before = task_pages.instance_states(conn, dag_id, run_id)
    work(conn)
    after = task_pages.instance_states(conn, dag_id, run_id)
    return [number for number, state in before.items() if after.get(number) != state]
