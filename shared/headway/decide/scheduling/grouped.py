"""Tasks in mapped groups: within the group an instance waits for those of its own map index.

Whatever is outside of the group is the same for all instances; and what is outside waits for all
of them.  A task of the group that has ended as a whole, with no map index, counts for each.
"""

from collections.abc import Callable, Collection, Iterator, Mapping

from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import Counts
from headway.decide.scheduling.tallies import GONE, tally_of
from headway.domain.dag.spec import TaskSpec
from headway.domain.dag.trigger_rules import Tally
from headway.domain.states import TaskState

ByIndex = Mapping[str, Mapping[int, TaskState]]
"""The states of the instances of tasks in mapped groups, by task and map index."""

Choices = Mapping[tuple[str, int], Collection[str]]
"""The tasks that a task instance, by its task and map index, chose not to run."""


def tallies(
    task: TaskSpec, graph: DagGraph, counts: Mapping[str, Counts], by_index: ByIndex
) -> Callable[[int], Tally]:
    """Return how the upstream of an instance of a task in a mapped group stands, by map index."""
    inside = [name for name in task.upstream if _is_expanded(name, task, graph, by_index)]
    outside = [(name, counts.get(name, GONE)) for name in task.upstream if name not in inside]

    def of(map_index: int) -> Tally:
        mates = ((name, _one(by_index[name].get(map_index))) for name in inside)
        return tally_of([*outside, *mates], graph.setups)

    return of


def follows(task: TaskSpec, graph: DagGraph, by_index: ByIndex) -> bool:
    """Tell whether a task in a mapped group waits for one of it that has become its instances."""
    return any(_is_expanded(name, task, graph, by_index) for name in task.upstream)


def skips(graph: DagGraph, choices: Choices) -> tuple[set[str], set[tuple[str, int]]]:
    """Return the tasks that are not to run, and the instances in mapped groups.

    A choice in a mapped group is one for its map index: it decides nothing outside of the group.
    """
    tasks: set[str] = set()
    instances: set[tuple[str, int]] = set()
    for (chooser, map_index), chosen in choices.items():
        if map_index >= 0 and graph.group_of(chooser) is not None:
            instances.update((name, map_index) for name in mates(graph, chooser, chosen))
        else:
            tasks.update(chosen)
    return tasks, instances


def mates(graph: DagGraph, task_id: str, others: Collection[str]) -> Iterator[str]:
    """Yield those of the other tasks that are in the mapped group of a task."""
    group = graph.group_of(task_id)
    return (name for name in others if group is not None and graph.group_of(name) == group)


def _is_expanded(name: str, task: TaskSpec, graph: DagGraph, by_index: ByIndex) -> bool:
    its = by_index.get(name, {})
    return bool(its) and -1 not in its and graph.group_of(name) == task.mapped_group


def _one(state: TaskState | None) -> Counts:
    return GONE if state is None else {state: 1}
