"""Clear tasks of a run: have them run again, with the run's own version or with another one."""

from dataclasses import replace

from sqlalchemy import Connection

from headway.actions.change import (
    Author,
    JournalEntry,
    RunChange,
    Versions,
    carry_out,
    have_looked_at,
    pick,
)
from headway.actions.lookup import graph_of, lock_run
from headway.actions.runs.version_choice import OWN, changed_providers, check_tasks_of, wanted
from headway.db.changes import repins, run_changes, run_end
from headway.db.changes.repins import Version
from headway.db.changes.run_changes import LockedRun
from headway.decide.changes.clear import Selection, clear, scope
from headway.decide.changes.repin import repin
from headway.domain.arguments import JsonValue
from headway.domain.states import RunState


def clear_tasks(
    conn: Connection,
    dag_id: str,
    run_id: str,
    selection: Selection,
    author: Author,
    version: str = OWN,
) -> RunChange:
    """Have the selected task instances of a run run again, with all their retries.

    What has begun is told to stop first, and its slots are held until it has.  A run that has
    ended is queued again; one that was told to end goes on.  ConflictError when a mapped task
    is to be expanded anew while an instance of it runs.

    With another `version` than its own the run has that one from then on, and its tasks what
    `decide.repin` makes of them.  What runs meanwhile goes on with the code that it began with.
    """
    run_end.lock_backfill(conn, dag_id, run_id)
    return clear_locked(conn, lock_run(conn, dag_id, run_id), selection, author, version)


def clear_locked(
    conn: Connection, run: LockedRun, selection: Selection, author: Author, version: str = OWN
) -> RunChange:
    """Do what `clear_tasks` does, to a run that this transaction has locked."""
    known, target = wanted(conn, run, version)
    in_force = None if known.in_force is None else known.in_force.number
    providers = changed_providers(conn, target, known.in_force)
    numbers = Versions(known.own.number, target.number, in_force, providers)
    entry = _entry(author, selection, numbers)
    if target == known.own and (run.pinned or version == OWN):
        change = _clear(conn, run, target, selection, entry)
    else:
        change = _repin(conn, run, target, selection, entry)
    return replace(change, versions=numbers)


def _clear(
    conn: Connection, run: LockedRun, own: Version, selection: Selection, entry: JournalEntry
) -> RunChange:
    graph = graph_of(conn, run)
    check_tasks_of(conn, own, graph, selection.tasks)
    instances = run_changes.lock_instances(conn, [run], scope(graph, selection))
    pick(run, instances, selection.tasks, selection.map_index)
    what = clear(graph, instances, selection)
    if not what:
        return RunChange.none(run)
    change = carry_out(conn, run, instances, what, entry)
    return replace(change, run=_go_on(conn, run))


def _repin(
    conn: Connection, run: LockedRun, target: Version, selection: Selection, entry: JournalEntry
) -> RunChange:
    was, graph = graph_of(conn, run), graph_of(conn, replace(run, version_id=target.id))
    check_tasks_of(conn, target, graph, selection.tasks)
    instances = run_changes.lock_instances(conn, [run])
    present = {instance.task_id for instance in instances}
    named = [task for task in selection.tasks if task in present]
    if named:
        pick(run, instances, named, selection.map_index)
    what = repin(was, graph, instances, selection)
    change = carry_out(conn, run, instances, what, entry)
    repins.repin(conn, [run.id], target.id)
    if run.state is RunState.RUNNING:
        repins.fill(conn, run.id, target.id)
    state = _go_on(conn, run)
    added = len(graph.tasks.keys() - present) if present else 0
    return replace(change, run=state, added=added)


def _go_on(conn: Connection, run: LockedRun) -> RunState:
    run_end.step_out(conn, run.id)
    run_end.go_on(conn, run.id)
    return have_looked_at(conn, run)


def _entry(author: Author, selection: Selection, versions: Versions) -> JournalEntry:
    details: dict[str, JsonValue] = {
        "map_index": selection.map_index,
        "downstream": selection.downstream,
        "only_failed": selection.only_failed,
        "only_running": selection.only_running,
        "version": {"before": versions.before, "after": versions.after},
    }
    action = "task.clear" if selection.tasks else "run.clear"
    return JournalEntry(author, action, selection.tasks, details)
