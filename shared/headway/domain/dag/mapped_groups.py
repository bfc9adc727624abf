"""Mapped groups: groups of tasks that are all expanded over the same, instance by instance."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headway.domain.dag.spec import DagSpec, TaskSpec
from headway.domain.dag.task_groups import GroupSpec


def mapped_groups(dag: DagSpec) -> frozenset[str]:
    """Return the ids of the mapped groups of a DAG that have a task."""
    return frozenset(task.mapped_group for task in dag.tasks if task.mapped_group is not None)


def problems_of_mapped_groups(dag: DagSpec) -> Iterator[str]:
    """Tell what is wrong with the mapped groups of a DAG, whose groups are well otherwise."""
    wanted = mapped_groups(dag)
    if not wanted:
        return
    inside = _mapped_group_of_tasks(dag.groups, wanted)
    for task in dag.tasks:
        if task.mapped_group != inside.get(task.task_id):
            yield f"has the task {task.task_id!r}, which is not mapped as its group is"
    for group, tasks in _by_group(dag.tasks).items():
        if not tasks[0].mapped_over or any(it.mapped_over != tasks[0].mapped_over for it in tasks):
            yield f"is {group!r}, whose tasks are not mapped over the same"
    yield from _nested(dag.groups, wanted)


def _mapped_group_of_tasks(
    groups: Iterable[GroupSpec], wanted: frozenset[str]
) -> Mapping[str, str | None]:
    """Return the mapped group of each task that is in a group; None where there is none."""
    around: dict[str | None, str | None] = {None: None}
    found: dict[str, str | None] = {}
    for group in groups:
        own = group.group_id if group.group_id in wanted else None
        around[group.group_id] = own or around.get(group.parent)
        found.update(dict.fromkeys(group.tasks, around[group.group_id]))
    return found


def _nested(groups: Iterable[GroupSpec], wanted: frozenset[str]) -> Iterator[str]:
    mapped: set[str | None] = set()
    for group in groups:
        if group.parent in mapped:
            mapped.add(group.group_id)
            if group.group_id in wanted:
                yield f"is {group.group_id!r}, a mapped group within another"
        elif group.group_id in wanted:
            mapped.add(group.group_id)


def _by_group(tasks: Iterable[TaskSpec]) -> dict[str, Sequence[TaskSpec]]:
    found: dict[str, list[TaskSpec]] = {}
    for task in tasks:
        if task.mapped_group is not None:
            found.setdefault(task.mapped_group, []).append(task)
    return dict(found)
