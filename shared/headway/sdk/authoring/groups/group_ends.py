"""Where a group of tasks begins, and where it ends."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.sdk.authoring.operator import BaseOperator


def roots(tasks: "Iterable[BaseOperator]") -> "list[BaseOperator]":
    """Return those of these tasks that wait for none of the others."""
    inside = {task.task_id: task for task in tasks}
    return [task for task in inside.values() if inside.keys().isdisjoint(task.upstream_task_ids)]


def leaves(tasks: "Iterable[BaseOperator]") -> "list[BaseOperator]":
    """Return those of these tasks that end the group: what follows waits for no teardown.

    In the place of a teardown for which no other waits stand the tasks before it, unless these
    are setups, or tasks for which others wait that are no teardowns.
    """
    inside = {task.task_id: task for task in tasks}
    found: dict[str, BaseOperator] = {}
    for task in inside.values():
        if inside.keys().isdisjoint(task.downstream_task_ids):
            for leaf in _above(task, inside) if task.is_teardown else (task,):
                found[leaf.task_id] = leaf
    return list(found.values())


def _above(
    teardown: "BaseOperator", inside: "Mapping[str, BaseOperator]"
) -> "Iterator[BaseOperator]":
    for task_id in sorted(inside.keys() & teardown.upstream_task_ids):
        task = inside[task_id]
        if task.is_teardown:
            yield from _above(task, inside)
        elif not task.is_setup and _only_teardowns_follow(task, inside):
            yield task


def _only_teardowns_follow(task: "BaseOperator", inside: "Mapping[str, BaseOperator]") -> bool:
    return all(inside[its].is_teardown for its in inside.keys() & task.downstream_task_ids)
