"""TaskGroup: tasks of a DAG that belong together."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from headway.domain.dag.names import check_key
from headway.domain.dag.task_groups import DEEPEST_GROUP
from headway.domain.errors import DagError
from headway.sdk.authoring import current
from headway.sdk.authoring.dependencies import Between, End
from headway.sdk.authoring.groups import group_ends
from headway.sdk.authoring.groups.group_options import (
    CHECKS,
    GROUP_OPTIONS,
    REFUSED,
    GroupOptions,
)
from headway.sdk.values import checks

if TYPE_CHECKING:
    from headway.sdk.authoring.definition import DAG
    from headway.sdk.authoring.groups.mapped_group import MappedTaskGroup
    from headway.sdk.authoring.operator import BaseOperator


class TaskGroup(Between):
    """Tasks that belong together: those made inside `with TaskGroup(...)`, and its groups.

    As a side of `>>` it stands for the tasks at its beginning, or those at its end.  An empty
    group joins what is before it to what is after it.
    """

    group_id: str | None
    label: str | None
    dag: "DAG"
    children: "dict[str, BaseOperator | TaskGroup]"

    def __init__(self, group_id: str, **options: Unpack[GroupOptions]) -> None:
        where = f"Task group {checks.shown(group_id)}"
        checks.known(options, GROUP_OPTIONS, where, REFUSED)
        check_group_id(group_id)
        parent = _parent(options, where)
        where = f"DAG {parent.dag.dag_id!r}, task group {parent.child_id(group_id)!r}"
        given: Mapping[str, Any] = options
        self._begin(
            parent.dag,
            parent,
            {
                name: CHECKS[name](value, f"{where}: {name}")
                for name, value in given.items()
                if name in CHECKS
            },
        )
        if self.depth > DEEPEST_GROUP:
            raise DagError(
                f"{where} is in {DEEPEST_GROUP} others; make it part of one that is further out."
            )
        own_id = group_id
        if given.get("add_suffix_on_collision"):
            own_id = parent.free_id(group_id)
        self.label = self.group_display_name or own_id
        self.group_id = check_key("task group", parent.child_id(own_id))
        self.dag.add_group(self)

    def _begin(self, dag: "DAG", parent: "TaskGroup | None", options: Mapping[str, Any]) -> None:
        super().__init__()
        self.group_id = self.label = None
        self.dag = dag
        self.parent_group = parent
        self.depth: int = parent.depth + 1 if parent else 0
        self.own_default_args: Mapping[str, Any] = options.get("default_args", {})
        inherited = parent.default_args if parent else {}
        self.default_args: dict[str, Any] = {**inherited, **self.own_default_args}
        self.prefix_group_id: bool = options.get("prefix_group_id", True)
        self.tooltip: str = options.get("tooltip", "")
        self.group_display_name: str = options.get("group_display_name", "")
        self.children = {}

    @property
    def node_id(self) -> str | None:
        """The id of the group."""
        return self.group_id

    @property
    def dag_id(self) -> str:
        """The id of the group's DAG."""
        return self.dag.dag_id

    @property
    def is_root(self) -> bool:
        """Whether this is the group of everything in the DAG."""
        return self.parent_group is None

    @property
    def mapped_group(self) -> "MappedTaskGroup | None":
        """The mapped group that this one is, or is in; None if it is in none."""
        return self.parent_group.mapped_group if self.parent_group else None

    @property
    def task_group(self) -> "TaskGroup | None":
        """The group that this one is in."""
        return self.parent_group

    def child_id(self, label: str) -> str:
        """Return the id, in the DAG, of what is called so in this group."""
        prefixes = self.prefix_group_id and self.group_id is not None
        return f"{self.group_id}.{label}" if prefixes else label

    def free_id(self, label: str) -> str:
        """Return `label`, or `label__1`, `label__2`, … when the group's DAG has that id."""
        free, number = label, 0
        while self.dag.has_id(self.child_id(free)):
            number += 1
            free = f"{label}__{number}"
        return free

    def add(self, task: "BaseOperator") -> "BaseOperator":
        """Move a task, which keeps its id, into this group."""
        if task.dag is not None and task.dag is not self.dag:
            raise DagError(f"{task.where}: it cannot join {self!r}, which is in another DAG.")
        if task.task_group is not None:
            task.task_group.children.pop(task.task_id, None)
        task.task_group = self
        self.children[task.task_id] = task
        if task.dag is None:
            self.dag.add_task(task)
        return task

    def __iter__(self) -> "Iterator[BaseOperator]":
        for child in self.children.values():
            if isinstance(child, TaskGroup):
                yield from child
            else:
                yield child

    def iter_tasks(self) -> "Iterator[BaseOperator]":
        """Yield the tasks of this group and of those in it."""
        return iter(self)

    def has_task(self, task: "BaseOperator") -> bool:
        """Tell whether a task is in this group or in one in it."""
        return any(each is task for each in self)

    def get_child_by_label(self, label: str) -> "BaseOperator | TaskGroup":
        """Return the task or group that is called so in this group."""
        found = self.children.get(self.child_id(label))
        if found is None:
            known = ", ".join(self.children) or "none"
            raise DagError(f"{self!r} has no {label!r}; what is in it: {known}.")
        return found

    def __getitem__(self, label: str) -> "BaseOperator | TaskGroup":
        return self.get_child_by_label(label)

    def get_task_group_dict(self) -> "dict[str | None, TaskGroup]":
        """Return this group and all in it, by their ids."""
        found: dict[str | None, TaskGroup] = {self.group_id: self}
        for child in self.children.values():
            if isinstance(child, TaskGroup):
                found |= child.get_task_group_dict()
        return found

    def firsts(self) -> Iterable[End]:
        """Return its tasks that wait for none of it; of an empty group those put after it."""
        found = group_ends.roots(self)
        return [(task, None) for task in found] if found else super().firsts()

    def lasts(self) -> Iterable[End]:
        """Return its tasks for which none of it waits; of an empty group those put before it."""
        found = group_ends.leaves(self)
        return [(task, None) for task in found] if found else super().lasts()

    def get_roots(self) -> "Iterator[BaseOperator]":
        """Yield the tasks at its beginning."""
        return iter(self.roots)

    def get_leaves(self) -> "Iterator[BaseOperator]":
        """Yield the tasks at its end."""
        return iter(self.leaves)

    def __enter__(self) -> "TaskGroup":
        current.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        current.leave()

    def __repr__(self) -> str:
        return f"<TaskGroup: {self.group_id or self.dag.dag_id}>"


class RootGroup(TaskGroup):
    """Everything in a DAG; it has no id."""

    def __init__(self, dag: "DAG") -> None:
        self._begin(dag, None, {})


def check_group_id(group_id: object) -> None:
    """Refuse what cannot be the id of a group: a dot parts it from the ids in it."""
    if "." in check_key("task group", group_id):
        raise DagError(
            f"The task group id {group_id!r} has a dot, which parts the id of a group from those "
            "in it; use a dash or an underscore."
        )


def group_for(options: Mapping[str, Any], name: str = "task_group") -> TaskGroup | None:
    """Return the group of something that is made with these options; None outside of all DAGs.

    It is the one that they name, else the innermost open group of the DAG.
    """
    group, dag = options.get(name), options.get("dag")
    if group is None:
        return current.innermost(dag)
    if not isinstance(group, TaskGroup):
        checks.refuse(name, "a TaskGroup", group)
    if dag is not None and group.dag is not dag:
        raise DagError(
            f"{name} is in the DAG {group.dag_id!r}, and dag is {dag.dag_id!r}; leave out one of "
            "the two."
        )
    return group


def _parent(options: GroupOptions, where: str) -> TaskGroup:
    try:
        parent = group_for(options, "parent_group")
    except DagError as error:
        raise DagError(f"{where}: {error}") from None
    if parent is None:
        raise DagError(f"{where} is made outside of a DAG; use `with DAG(...)`, or pass dag=.")
    return parent
