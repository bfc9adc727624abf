"""Which tasks are to run again for a task below them to run at all."""

from collections.abc import Mapping, Sequence
from typing import Final

from headway.decide.scheduling.settle import RunCounts
from headway.domain.dag.spec import TaskSpec
from headway.domain.states import TaskState

_SUCCESS: Final = frozenset({TaskState.SUCCESS})
_FOLLOWING: Final = frozenset({TaskState.UPSTREAM_FAILED, TaskState.SKIPPED})


def culprits(
    standing: RunCounts, choosers: Mapping[str, Sequence[str]], below: TaskSpec
) -> list[str]:
    """Return the tasks above one that decided by themselves how they end, or else all direct ones.

    A task that only followed others, or that one of the `choosers` did not choose, would do so
    again: these others are returned instead.
    """
    found: set[str] = set()
    above, seen = [below.task_id], {below.task_id}
    while above:
        for task_id in set(_unwell(standing, above.pop())) - seen:
            seen.add(task_id)
            if task_id in choosers:
                found.update(choosers[task_id])
            elif _followed(standing, task_id):
                above.append(task_id)
            else:
                found.add(task_id)
    return sorted(found) or list(below.upstream)


def _unwell(standing: RunCounts, task_id: str) -> list[str]:
    """Return the upstream tasks of a task that did not succeed."""
    upstream = standing.graph.tasks[task_id].upstream
    return [name for name in upstream if standing.tasks.get(name) and _bad(standing, name)]


def _followed(standing: RunCounts, task_id: str) -> bool:
    return _bad(standing, task_id) <= _FOLLOWING and bool(_unwell(standing, task_id))


def _bad(standing: RunCounts, task_id: str) -> set[TaskState]:
    return standing.tasks[task_id].counts.keys() - _SUCCESS
