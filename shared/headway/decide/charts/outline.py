"""The tasks of a DAG as a list in which each group stands above what is in it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from headway.domain.dag.task_groups import GroupSpec


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A task, or a group with all the `tasks` in it.

    `group` is the innermost one around it, `depth` how many there are.  What is in a `folded`
    group has no rows.
    """

    name: str
    group: str | None
    depth: int
    tasks: Sequence[str] = ()
    folded: bool = False


def outlined(
    task_ids: Sequence[str], groups: Iterable[GroupSpec], folded: Set[str] = frozenset()
) -> list[OutlineRow]:
    """Return the rows of these tasks: a group stands where the first of its tasks would.

    Tasks may be of several versions of a DAG: a group with the id of one of them is left out.
    """
    listed = set(task_ids)
    around = {
        task: tuple(group for group in path if group not in listed)
        for task, path in groups_around(groups).items()
    }
    return list(_rows(task_ids, (), around, folded))


def groups_around(groups: Iterable[GroupSpec]) -> dict[str, tuple[str, ...]]:
    """Return the groups around each grouped task, from the outermost on."""
    of_group: dict[str, tuple[str, ...]] = {}
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        outside = of_group.get(group.parent, ()) if group.parent else ()
        of_group[group.group_id] = (*outside, group.group_id)
        found |= dict.fromkeys(group.tasks, of_group[group.group_id])
    return found


def _rows(
    task_ids: Iterable[str],
    path: tuple[str, ...],
    around: Mapping[str, tuple[str, ...]],
    folded: Set[str],
) -> Iterator[OutlineRow]:
    depth = len(path)
    group = path[-1] if path else None
    members: dict[str, list[str]] = {}
    for task in task_ids:
        its = around.get(task, ())
        members.setdefault(its[depth] if len(its) > depth else task, []).append(task)
    for name, tasks in members.items():
        if tasks == [name]:
            yield OutlineRow(name, group, depth)
            continue
        yield OutlineRow(name, group, depth, tasks, name in folded)
        if name not in folded:
            yield from _rows(tasks, (*path, name), around, folded)
