"""How a run stands as one instance in a mapped group sees it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from headway.decide.scheduling.grouped import Choices
from headway.decide.scheduling.run_counts import RunCounts, TaskCounts
from headway.domain.dag.names import instance_name
from headway.domain.states import TaskState


def at_index(run_counts: RunCounts, task_id: str, map_index: int) -> RunCounts:
    """Return the counts with one instance alone of each task in the mapped group of a task.

    They stay as they are for a task in no such group, or one that is still to be expanded.
    """
    graph = run_counts.graph
    group = graph.group_of(task_id)
    if group is None or map_index < 0:
        return run_counts
    tasks = {
        name: _one(counts, map_index) if graph.group_of(name) == group else counts
        for name, counts in run_counts.tasks.items()
    }
    return replace(run_counts, tasks=tasks)


def choosers(
    run_counts: RunCounts, choices: Choices, task_id: str, map_index: int
) -> dict[str, Sequence[str]]:
    """Return the tasks that others chose not to run, each with those others.

    A choice in a mapped group counts for its map index alone, and in the group alone.
    """
    graph, own = run_counts.graph, run_counts.graph.group_of(task_id)
    found: dict[str, list[str]] = {}
    for (chooser, index), chosen in choices.items():
        group = graph.group_of(chooser)
        for name in chosen:
            counts = group is None or index < 0 or graph.group_of(name) == group
            if counts and (group is None or group != own or index in (map_index, -1)):
                found.setdefault(name, []).append(chooser)
    return {name: sorted(set(its)) for name, its in found.items()}


def named(run_counts: RunCounts, task_id: str) -> str:
    """Return what to call a task, or the one instance of it that counts."""
    counts = run_counts.tasks.get(task_id)
    return instance_name(task_id, -1 if counts is None else index_of(counts))


def index_of(counts: TaskCounts) -> int:
    """Return the map index of the one instance that counts; -1 if all do."""
    return next(iter(counts.by_index)) if len(counts.by_index) == 1 else -1


def index_of_all(tasks: Mapping[str, TaskCounts], names: Iterable[str]) -> int:
    """Return the map index that these tasks have in common; -1 if there is none."""
    found = {index_of(tasks[name]) if name in tasks else -1 for name in names}
    return found.pop() if len(found) == 1 else -1


def _one(counts: TaskCounts, map_index: int) -> TaskCounts:
    by_index = counts.by_index
    if map_index not in by_index:
        return counts
    state = by_index[map_index]
    undecided: Sequence[int] = ()
    if state is TaskState.NONE:
        waiting = sorted(index for index, its in by_index.items() if its is TaskState.NONE)
        undecided = [counts.undecided[waiting.index(map_index)]]
    return TaskCounts({state: 1}, undecided, placeholder=False, by_index={map_index: state})
