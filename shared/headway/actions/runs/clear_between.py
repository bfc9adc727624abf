"""Clear tasks of all runs of a DAG whose logical dates are in a range."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from sqlalchemy import Connection

from headway.actions.change import Author, RunChange
from headway.actions.lookup import check_tasks, current_dag, lock_run
from headway.actions.runs.clear import clear_locked
from headway.actions.runs.version_choice import OWN
from headway.db.changes import run_changes, run_ranges
from headway.db.changes.run_changes import LockedRun
from headway.db.core import stored_versions
from headway.db.reads import dag_views
from headway.db.reads.pages.paging import TimeRange
from headway.decide.changes.clear import Selection, scope
from headway.decide.changes.intervene import Instance
from headway.decide.scheduling.graph import DagGraph
from headway.domain.errors import RequestError
from headway.serialization import codec

MOST_RUNS: Final = 1_000
"""Runs that are cleared in one transaction."""

MOST_INSTANCES: Final = 20_000
"""Task instances that one transaction locks to clear runs."""

Choice: TypeAlias = Callable[[DagGraph], Iterable[Selection]]
"""What to clear of a run with such tasks; it may name tasks that a run does not have."""


@dataclass(frozen=True, slots=True)
class RunsToClear:
    """Runs that this transaction has locked with those of their instances that clearing touches.

    These are of `tasks`, or None for all.  `graphs` has the tasks of each version by its id.
    """

    tasks: Collection[str] | None
    runs: Sequence[LockedRun]
    graphs: Mapping[int, DagGraph]
    instances: Mapping[int, Sequence[Instance]]

    def graph(self, run: LockedRun) -> DagGraph:
        """Return the tasks of a run."""
        return self.graphs[run.version_id]


def lock_runs(
    conn: Connection, dag_id: str, dates: TimeRange, choose: Choice, version: str = OWN
) -> RunsToClear:
    """Lock the runs of the DAG with these logical dates, and what is chosen of them.

    All locks are taken here, in the one order: `clear_runs` waits for none between two runs.
    RequestError when there are more runs, or more task instances, than are cleared at a time.
    """
    if dag_views.dag(conn, dag_id) is None:
        current_dag(conn, dag_id)  # its error names the nearest DAGs
    runs = run_ranges.lock_between(conn, dag_id, (dates.start, dates.end), MOST_RUNS + 1)
    if len(runs) > MOST_RUNS:
        raise RequestError(
            f"More than {MOST_RUNS:,} runs of DAG {dag_id} are meant, and at most so many are "
            "cleared at a time. Give a shorter range of logical dates."
        )
    graphs = {
        version_id: DagGraph(codec.decode(stored))
        for version_id, stored in stored_versions.load(
            conn, sorted({run.version_id for run in runs})
        ).items()
    }
    tasks = _touched(graphs.values(), choose) if version == OWN else None
    counted = run_ranges.count_instances(conn, runs, tasks, MOST_INSTANCES + 1)
    if counted > MOST_INSTANCES:
        raise RequestError(
            f"More than {MOST_INSTANCES:,} task instances of DAG {dag_id} are meant, and at most "
            "so many are cleared at a time. Name tasks, or give a shorter range of logical dates."
        )
    return RunsToClear(tasks, runs, graphs, run_changes.lock_all(conn, runs, tasks))


def clear_runs(
    conn: Connection, locked: RunsToClear, choose: Choice, author: Author, version: str = OWN
) -> list[RunChange]:
    """Have what is chosen of each run run again, as `clear_tasks` does.

    A run is left alone that has none of the tasks, or no task instances yet.  NotFoundError for a
    task that no run has.
    """
    _check_named(locked, choose)
    changes = []
    for run in locked.runs:
        for selection in _present(choose(locked.graph(run)), locked.instances[run.id]):
            # As the selection before has left it.
            now = lock_run(conn, run.dag_id, run.run_id)
            changes.append(clear_locked(conn, now, selection, author, version))
    return changes


def _touched(graphs: Iterable[DagGraph], choose: Choice) -> set[str]:
    found: set[str] = set()
    for graph in graphs:
        for selection in choose(graph):
            known = [task for task in selection.tasks if task in graph.tasks]
            if known or not selection.tasks:
                found |= scope(graph, replace(selection, tasks=known))
    return found


def _check_named(locked: RunsToClear, choose: Choice) -> None:
    graphs = [locked.graph(run) for run in locked.runs]
    known = {task for graph in graphs for task in graph.tasks}
    for graph in graphs:
        named = {task for selection in choose(graph) for task in selection.tasks}
        check_tasks(graph, sorted(named - known))


def _present(selections: Iterable[Selection], instances: Sequence[Instance]) -> Iterator[Selection]:
    whole = {instance.task_id for instance in instances}
    single = {(instance.task_id, instance.map_index) for instance in instances}
    for selection in selections:
        index = selection.map_index
        there = [
            task
            for task in selection.tasks
            if (task in whole if index is None else (task, index) in single)
        ]
        if there or (whole and not selection.tasks):
            yield replace(selection, tasks=there)
