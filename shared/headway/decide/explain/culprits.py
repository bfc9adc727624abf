"""Which tasks are to run again for a task below them to run at all."""

from collections.abc import Mapping, Sequence
from typing import Final

from headway.decide.scheduling.run_counts import RunCounts
from headway.domain.dag.spec import TaskSpec
from headway.domain.states import TaskState

_SUCCESS: Final = frozenset({TaskState.SUCCESS})
_FOLLOWING: Final = frozenset({TaskState.UPSTREAM_FAILED, TaskState.SKIPPED})


def culprits(
    run_counts: RunCounts, choosers: Mapping[str, Sequence[str]], below: TaskSpec
) -> list[str]:
    """Return the tasks above one that decided by themselves how they end, or else all direct ones.

    A task that only followed others, or that one of the `choosers` did not choose, would do so
    again: these others are returned instead.
    """
    found: set[str] = set()
    above, seen = [below.task_id], {below.task_id}
    while above:
        for task_id in set(_unwell(run_counts, above.pop())) - seen:
            seen.add(task_id)
            if task_id in choosers:
                found.update(choosers[task_id])
            elif _followed(run_counts, task_id):
                above.append(task_id)
            else:
                found.add(task_id)
    return sorted(found) or list(below.upstream)


def _unwell(run_counts: RunCounts, task_id: str) -> list[str]:
    """Return the upstream tasks of a task that did not succeed."""
    upstream = run_counts.graph.tasks[task_id].upstream
    return [name for name in upstream if run_counts.tasks.get(name) and _bad(run_counts, name)]


def _followed(run_counts: RunCounts, task_id: str) -> bool:
    return _bad(run_counts, task_id) <= _FOLLOWING and bool(_unwell(run_counts, task_id))


def _bad(run_counts: RunCounts, task_id: str) -> set[TaskState]:
    return run_counts.tasks[task_id].counts.keys() - _SUCCESS
