"""The layers of a graph: each task stands in the first layer below all that it waits for."""

from collections.abc import Iterable

from headway.domain.dag.spec import TaskSpec


def layers(tasks: Iterable[TaskSpec]) -> dict[str, int]:
    """Return the layer of each task, the first being 0; the tasks are in topological order."""
    found: dict[str, int] = {}
    for task in tasks:
        found[task.task_id] = max((found[above] + 1 for above in task.upstream), default=0)
    return found
