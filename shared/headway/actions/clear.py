"""Clear tasks of a run: have them run again."""

from dataclasses import replace

from sqlalchemy import Connection

from headway.actions.intervene import Author, Change, Entry, carry_out, have_looked_at, pick
from headway.actions.lookup import check_tasks, graph_of, lock_run
from headway.db import endings, interventions
from headway.decide.clear import Selection, clear, scope


def clear_tasks(
    conn: Connection, dag_id: str, run_id: str, selection: Selection, author: Author
) -> Change:
    """Have the selected task instances of a run run again, with all their retries.

    What has begun is told to stop first, and its slots are held until it has.  A run that has
    ended is queued again; one that was told to end goes on.  ConflictError when a mapped task
    is to be expanded anew while an instance of it runs.
    """
    run = lock_run(conn, dag_id, run_id)
    graph = graph_of(conn, run)
    check_tasks(graph, selection.tasks)
    instances = interventions.lock_instances(conn, [run], scope(graph, selection))
    pick(run, instances, selection.tasks, selection.map_index)
    what = clear(graph, instances, selection)
    if not what:
        return Change.none(run)
    entry = Entry(
        author,
        "task.clear" if selection.tasks else "run.clear",
        selection.tasks,
        {
            "map_index": selection.map_index,
            "downstream": selection.downstream,
            "only_failed": selection.only_failed,
        },
    )
    change = carry_out(conn, run, instances, what, entry)
    endings.go_on(conn, run.id)
    return replace(change, run=have_looked_at(conn, run))
