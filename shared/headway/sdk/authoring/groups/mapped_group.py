"""Mapped groups: the tasks of one definition, and an instance of each for each item."""

from collections.abc import Mapping
from inspect import Parameter
from typing import Any, Self, Unpack

from headway.domain.errors import DagError
from headway.sdk.authoring.dependencies import connect
from headway.sdk.authoring.expansion import Expansion, Items
from headway.sdk.authoring.groups import group_ends
from headway.sdk.authoring.groups.group_options import GroupOptions
from headway.sdk.authoring.groups.task_group import TaskGroup
from headway.sdk.exceptions import XComError
from headway.sdk.values import checks


class MappedTaskGroup(TaskGroup):
    """A group whose tasks are all expanded over the same, instance by instance.

    `taken` are the parameters of its function.
    """

    expansion: Expansion

    def __init__(
        self,
        group_id: str,
        expansion: Expansion,
        taken: Mapping[str, Parameter],
        **options: Unpack[GroupOptions],
    ) -> None:
        super().__init__(group_id, **options)
        refuse_mapping(self.parent_group, f"DAG {self.dag_id!r}, task group {self.group_id!r}")
        self.expansion = expansion
        self.taken = taken

    @property
    def mapped_group(self) -> "MappedTaskGroup":
        """This group."""
        return self

    def connect_inputs(self) -> None:
        """Let the first tasks of the group wait for the tasks that it is expanded over."""
        for root in group_ends.roots(self):
            for output in self.expansion.outputs():
                connect(output.operator, root)

    def argument(self, items: Items, name: str) -> Any:
        """Return the value of an argument of its function, given the items of an instance."""
        known = self.taken.values()
        if not any(each.kind is Parameter.VAR_KEYWORD for each in known):
            where = f"Task group {self.group_id!r}: a dictionary that it is expanded over"
            checks.known(items.arguments, self.taken, where)
        if name in items.arguments:
            return items.arguments[name]
        default = self.taken[name].default
        if default is Parameter.empty:
            raise XComError(
                f"Task group {self.group_id!r} needs a value for {name!r}, which a dictionary that "
                f"it is expanded over lacks; it has: {', '.join(items.arguments) or 'nothing'}."
            )
        return default

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.connect_inputs()


def refuse_mapping(group: TaskGroup | None, where: str) -> None:
    """Refuse to expand something within a mapped group."""
    around = None if group is None else group.mapped_group
    if around is not None:
        raise DagError(
            f"{where}: it is in the mapped task group {around.group_id!r}, where nothing can be "
            "expanded by itself; expand the group over all combinations, or put this outside of it."
        )
