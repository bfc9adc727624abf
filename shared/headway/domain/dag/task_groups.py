"""Groups of tasks, and labels of edges, as data."""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Final

from headway.domain.dag.names import check_key

DEEPEST_GROUP: Final = 64
"""How many groups may be one within the other."""


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
    seen: dict[str, int] = {}
    grouped: set[str] = set()
    for group in groups:
        if check_key("task group", group.group_id) in seen or group.group_id in task_ids:
            yield f"has the id {group.group_id!r} of another, or of a task"
        if group.parent is not None and group.parent not in seen:
            yield f"is in {group.parent!r}, which does not come before it"
        its = set(group.tasks)
        if len(its) < len(group.tasks) or not its <= task_ids or its & grouped:
            yield "has a task that the DAG has not, or that is in two groups"
        seen[group.group_id] = 1 + seen.get(group.parent or "", 0)
        if seen[group.group_id] > DEEPEST_GROUP:
            yield f"is in {DEEPEST_GROUP} others or more"
        grouped |= its
