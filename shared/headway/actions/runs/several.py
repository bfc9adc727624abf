"""Change the same tasks of several runs of a DAG in one transaction."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sqlalchemy import Connection

from headway.actions.change import RunChange
from headway.actions.lookup import run_of
from headway.actions.runs.clear_between import MOST_INSTANCES, MOST_RUNS
from headway.db.changes import run_changes, run_ranges
from headway.db.core import stored_versions
from headway.decide.scheduling.graph import DagGraph
from headway.domain.errors import RequestError, TaskNotFoundError
from headway.serialization import codec

ChangeRun: TypeAlias = Callable[[str, Sequence[str]], RunChange]
"""Changes these tasks of a run."""


def change_several(
    conn: Connection, dag_id: str, run_ids: Sequence[str], tasks: Sequence[str], change: ChangeRun
) -> list[RunChange]:
    """Change the tasks of each run, as far as it has instances of them; return what was done.

    All locks are taken first, in the one order.  NotFoundError for a run that is not there, or a
    task that none of them has; RequestError for more than are changed at a time.
    """
    wanted = sorted(set(run_ids))
    if len(wanted) > MOST_RUNS:
        raise RequestError(
            f"At most {MOST_RUNS:,} runs are changed at a time, not {len(wanted):,}."
        )
    runs = run_ranges.lock_named(conn, dag_id, wanted)
    for run_id in sorted(set(wanted) - {run.run_id for run in runs}):
        run_of(conn, dag_id, run_id)
    if run_ranges.count_instances(conn, runs, None, MOST_INSTANCES + 1) > MOST_INSTANCES:
        raise RequestError(
            f"The runs have more than {MOST_INSTANCES:,} task instances, and at most so many are "
            "locked at a time. Choose fewer runs."
        )
    stored = stored_versions.load(conn, sorted({run.version_id for run in runs}))
    known = {version: DagGraph(codec.decode(text)).tasks for version, text in stored.items()}
    missing = [task for task in tasks if not any(task in its for its in known.values())]
    if missing:
        raise TaskNotFoundError(f"None of these runs of {dag_id} has a task {missing[0]!r}.")
    instances = run_changes.lock_all(conn, runs, None)
    changes = []
    for run in runs:
        there = {instance.task_id for instance in instances[run.id]}
        if its := [task for task in tasks if task in there]:
            changes.append(change(run.run_id, its))
    return changes
