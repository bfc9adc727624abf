"""Cancel a run, or tasks of it: what runs is stopped and fails, what has not begun is skipped."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from headway.actions.change import Author, JournalEntry, RunChange, carry_out, have_looked_at, pick
from headway.actions.lookup import check_tasks, graph_of, lock_run
from headway.actions.runs.mark import end_run
from headway.db.changes import run_changes
from headway.decide.changes.intervene import end
from headway.domain.errors import AlreadyEndedError
from headway.domain.hints import Action, act, hint
from headway.domain.states import UNFINISHED_RUN, RunState, TaskState


def cancel_run(conn: Connection, dag_id: str, run_id: str, author: Author) -> RunChange:
    """Have a run end as failed, as soon as what runs has stopped; ConflictError when it has."""
    run = lock_run(conn, dag_id, run_id)
    if run.state not in UNFINISHED_RUN:
        again = act(Action.CLEAR_RUN, dag_id=dag_id, run_id=run_id)
        raise AlreadyEndedError(
            f"Run {run_id} has ended ({run.state}): there is nothing to cancel.",
            hint=hint(again, " runs it again; ", act(Action.MARK_RUN), " calls it otherwise."),
        )
    return end_run(conn, run, RunState.FAILED, JournalEntry(author, "run.cancel"))


def cancel_tasks(
    conn: Connection,
    where: tuple[str, str],
    tasks: Sequence[str],
    map_index: int | None,
    author: Author,
) -> RunChange:
    """End tasks of a run (`where`: DAG and run id); the rest of it goes on.

    ConflictError when all of them have ended.
    """
    run = lock_run(conn, *where)
    check_tasks(graph_of(conn, run), tasks)
    instances = run_changes.lock_instances(conn, [run], tasks)
    picked = pick(run, instances, tasks, map_index)
    what = end(picked, TaskState.FAILED)
    if not what:
        states = ", ".join(sorted({instance.state for instance in picked}))
        dag_id, run_id = where
        again = act(Action.CLEAR_TASKS, dag_id=dag_id, run_id=run_id, tasks=tuple(tasks))
        raise AlreadyEndedError(
            f"What was named has ended ({states}): there is nothing to cancel.",
            hint=hint(again, " runs it again; ", act(Action.MARK_TASKS), " calls it otherwise."),
        )
    entry = JournalEntry(author, "task.cancel", tasks, {"map_index": map_index})
    change = carry_out(conn, run, instances, what, entry)
    return replace(change, run=have_looked_at(conn, run))
