"""Mark tasks of a run, or a run, as what their user says they are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from headway.actions.change import (
    Author,
    JournalEntry,
    RunChange,
    carry_out,
    enter,
    have_looked_at,
    pick,
)
from headway.actions.lookup import check_tasks, graph_of, lock_run
from headway.db.changes import run_changes, run_end
from headway.db.changes.run_changes import LockedRun
from headway.db.scheduling import wakes
from headway.decide.changes.clear import FAILED, below, is_meant, single_tasks
from headway.decide.changes.intervene import end, mark
from headway.domain.states import UNFINISHED_RUN, RunState, TaskState


@dataclass(frozen=True, slots=True)
class Marking:
    """Which tasks of a run to mark, of mapped ones all instances or one, and as what.

    `downstream` clears what lies below them and has failed, unless they are marked failed.
    """

    tasks: Sequence[str]
    state: TaskState
    map_index: int | None = None
    downstream: bool = True


def mark_tasks(
    conn: Connection, dag_id: str, run_id: str, marking: Marking, author: Author
) -> RunChange:
    """Mark task instances of a run; an attempt that has begun is told to stop first.

    A run that has ended is queued again, to be decided by how its tasks stand now.
    ConflictError when one of the instances may not go to that state.
    """
    run_end.lock_backfill(conn, dag_id, run_id)
    run = lock_run(conn, dag_id, run_id)
    graph = graph_of(conn, run)
    check_tasks(graph, marking.tasks)
    lower = below(graph, marking.tasks) - set(marking.tasks) if marking.downstream else set()
    instances = run_changes.lock_instances(conn, [run], {*marking.tasks, *lower})
    marked = pick(run, instances, marking.tasks, marking.map_index)
    single = single_tasks(graph, marking.tasks, marking.map_index)
    failed = [
        instance
        for instance in instances
        if instance.task_id in lower
        and instance.state in FAILED
        and is_meant(instance, marking.map_index, single)
    ]
    what = mark(marked, failed, marking.state)
    if not what:
        return RunChange.none(run)
    details = {"as": str(marking.state), "map_index": marking.map_index}
    entry = JournalEntry(author, "task.mark", marking.tasks, details)
    change = carry_out(conn, run, instances, what, entry)
    if run.state not in UNFINISHED_RUN:
        run_end.step_out(conn, run.id)
    return replace(change, run=have_looked_at(conn, run))


def mark_run(
    conn: Connection, dag_id: str, run_id: str, state: RunState, author: Author
) -> RunChange:
    """Mark a run as success or failed.

    One that has ended is only called otherwise: its tasks stay as they ended.  Any other is
    ended: what runs is told to stop and becomes `state`, what has not begun is skipped.
    """
    run = lock_run(conn, dag_id, run_id)
    if run.state is state:
        return RunChange.none(run)
    entry = JournalEntry(author, "run.mark", details={"as": str(state)})
    if run.state in UNFINISHED_RUN:
        return end_run(conn, run, state, entry)
    enter(conn, run, entry)
    run_end.end(conn, run.id, state)
    return RunChange(run.state, state)


def end_run(conn: Connection, run: LockedRun, state: RunState, entry: JournalEntry) -> RunChange:
    """End a locked run that has not ended: at once if it waits, else when nothing is live."""
    instances = run_changes.lock_unfinished(conn, [run])[run.id]
    what = end(instances, TaskState(state))
    change = carry_out(conn, run, instances, what, entry)
    if run.state is RunState.RUNNING:
        run_end.end_as(conn, [run.id], state)
        wakes.add(conn, [run.id])
        return replace(change, ends=state)
    run_end.end(conn, run.id, state)
    wakes.add(conn, run_end.following(conn, run.id))
    return replace(change, run=state)
