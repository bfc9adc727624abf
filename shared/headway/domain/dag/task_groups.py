"""Groups of tasks, and labels of edges, as data."""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from headway.domain.dag.names import check_key


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpec:
    """Tasks of a DAG that belong together.

    `tasks` are those that are in no group within it.  `parent` is the group that it is in itself.
    """

    group_id: str
    parent: str | None = None
    tasks: tuple[str, ...] = ()
    tooltip: str | None = None
    display_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeLabel:
    """What is written on the edge from one task to another."""

    upstream: str
    downstream: str
    label: str


def problems_of_groups(groups: Iterable[GroupSpec], task_ids: Set[str]) -> Iterator[str]:
    """Tell what is wrong with the groups of a DAG that has these tasks."""
    seen: set[str] = set()
    grouped: set[str] = set()
    for group in groups:
        if check_key("task group", group.group_id) in seen | task_ids:
            yield f"has the id {group.group_id!r} of another, or of a task"
        if group.parent is not None and group.parent not in seen:
            yield f"is in {group.parent!r}, which does not come before it"
        its = set(group.tasks)
        if len(its) < len(group.tasks) or not its <= task_ids or its & grouped:
            yield "has a task that the DAG has not, or that is in two groups"
        seen.add(group.group_id)
        grouped |= its
