"""Dependencies: `>>`, `<<`, Label, chain, cross_downstream, and `with` a setup."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from headway.domain.errors import DagError
from headway.sdk.authoring.current import enter_scope, leave_scope
from headway.sdk.values import checks
from headway.sdk.values.checks import shown

if TYPE_CHECKING:
    from headway.sdk.authoring.operator import BaseOperator

Tasks: TypeAlias = "Dependent | Sequence[Dependent]"
AnyTasks = TypeVar("AnyTasks", bound="Tasks")

End: TypeAlias = "tuple[BaseOperator, str | None]"
"""A task at the end of a dependency, and what is to be written on the edge to it."""


class Dependent:
    """What stands on either side of `>>`: a task, the output of one, a group, or a label."""

    def firsts(self) -> Iterable[End]:
        """Return the tasks that wait for what is put before this."""
        return ((self.as_operator(), None),)

    def lasts(self) -> Iterable[End]:
        """Return the tasks for which what is put after this waits."""
        return ((self.as_operator(), None),)

    def comes_after(self, ends: Iterable[End]) -> None:
        """Be told of the tasks that were put before this."""

    def comes_before(self, ends: Iterable[End]) -> None:
        """Be told of the tasks that were put after this."""

    @property
    def roots(self) -> "list[BaseOperator]":
        """The tasks that wait for what is put before this."""
        return [task for task, _ in self.firsts()]

    @property
    def leaves(self) -> "list[BaseOperator]":
        """The tasks for which what is put after this waits."""
        return [task for task, _ in self.lasts()]

    def as_operator(self) -> "BaseOperator":
        """Return the task that this is."""
        raise DagError(f"Here a task is needed, and {self!r} is none; pass tasks.")

    def set_downstream(self, other: Tasks, edge_modifier: "EdgeModifier | None" = None) -> None:
        """Let `other` wait for this."""
        _cross(self, other, edge_modifier)

    def set_upstream(self, other: Tasks, edge_modifier: "EdgeModifier | None" = None) -> None:
        """Let this wait for `other`."""
        _cross(other, self, edge_modifier)

    def __rshift__(self, other: AnyTasks) -> AnyTasks:
        self.set_downstream(other)
        return other

    def __lshift__(self, other: AnyTasks) -> AnyTasks:
        self.set_upstream(other)
        return other

    def __rrshift__(self, other: "Sequence[Dependent]") -> "Dependent":
        self.set_upstream(other)
        return self

    def __rlshift__(self, other: "Sequence[Dependent]") -> "Dependent":
        self.set_downstream(other)
        return self


class TaskDependent(Dependent):
    """A task, or its output: `with` one that is a setup or a teardown gives a block."""

    def __enter__(self) -> "SetupScope":
        """Let the tasks of the block lie between this setup and its teardown, or the reverse."""
        task = self.as_operator()
        if not (task.is_setup or task.is_teardown):
            raise DagError(
                f"{task.where}: `with` takes a setup or a teardown; call as_setup() or "
                "as_teardown() first."
            )
        scope = SetupScope(task)
        enter_scope(scope)
        return scope

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        scope, around = leave_scope()
        if kind is None:
            scope.close(around)


@dataclass(eq=False)
class SetupScope:
    """What lies between a setup and its teardown: `with` either of the two gives it."""

    task: "BaseOperator"
    members: "list[BaseOperator]" = field(default_factory=list)

    def add_task(self, task: Dependent) -> None:
        """Take in a task that was made before the block."""
        self.members.append(task.as_operator())

    def close(self, around: "SetupScope | None") -> None:
        """Let the first tasks wait for the setups, and the teardowns for the last ones."""
        setups, teardowns = self._setups(), self._teardowns()
        ends = {task.task_id for task in (*setups, *teardowns)}
        inside = {task.task_id: task for task in self.members if task.task_id not in ends}
        for task in inside.values():
            if not task.upstream_task_ids & inside.keys():
                cross_downstream(setups, task)
            if not task.downstream_task_ids & inside.keys():
                cross_downstream(task, teardowns)
        if around is not None:
            around.members += [*setups, *inside.values(), *teardowns]

    def _setups(self) -> "list[BaseOperator]":
        if self.task.is_teardown:
            return [task for task in self.task.upstream_list if task.is_setup]
        return [self.task]

    def _teardowns(self) -> "list[BaseOperator]":
        if self.task.is_teardown:
            return [self.task]
        return [task for task in self.task.downstream_list if task.is_teardown]


class Between(Dependent):
    """What is no task, and joins the tasks before it to those after it, in whichever order."""

    def __init__(self) -> None:
        self._before: list[End] = []
        self._after: list[End] = []

    def firsts(self) -> Iterable[End]:
        """Return the tasks that were put after this."""
        return list(self._after)

    def lasts(self) -> Iterable[End]:
        """Return the tasks that were put before this."""
        return list(self._before)

    def comes_after(self, ends: Iterable[End]) -> None:
        """Remember the tasks that were put before this."""
        self._before += ends

    def comes_before(self, ends: Iterable[End]) -> None:
        """Remember the tasks that were put after this."""
        self._after += ends


class EdgeModifier(Between):
    """A text on the edges between tasks: `check >> Label("no errors") >> save`."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.label: str = checks.text(label, "The text of a label")

    def firsts(self) -> Iterable[End]:
        """Return the tasks that were put after this, with the text."""
        return [(task, self.label) for task, _ in self._after]

    def lasts(self) -> Iterable[End]:
        """Return the tasks that were put before this, with the text."""
        return [(task, self.label) for task, _ in self._before]

    def __repr__(self) -> str:
        return f"Label({self.label!r})"


Label = EdgeModifier


def cross_downstream(from_tasks: Tasks, to_tasks: Tasks) -> None:
    """Let each of `to_tasks` wait for all of `from_tasks`."""
    _cross(from_tasks, to_tasks, None)


def chain(*tasks: Tasks) -> None:
    """Let each element wait for the one before it; of two lists, item by item."""
    for before, after in pairwise(tasks):
        upstream, downstream = _items(before), _items(after)
        if isinstance(before, Dependent) or isinstance(after, Dependent):
            cross_downstream(before, after)
        elif len(upstream) != len(downstream):
            raise DagError(
                f"chain cannot link a list of {len(upstream)} tasks to one of {len(downstream)}; "
                "make them equally long, or use chain_linear or cross_downstream."
            )
        else:
            for pair in zip(upstream, downstream, strict=True):
                _link(*pair, None)


def chain_linear(*elements: Tasks) -> None:
    """Let each element, which may be a list of any length, wait for all of the one before it."""
    pairs = list(pairwise(elements))
    if not any(_items(before) and _items(after) for before, after in pairs):
        raise DagError(
            "chain_linear has nothing to link; pass two elements or more, those of a list with *."
        )
    for element in elements:
        for label in _items(element):
            if isinstance(label, EdgeModifier):
                raise DagError(f"chain_linear takes no {label!r}; use chain, or >>.")
    for before, after in pairs:
        cross_downstream(before, after)


def connect(upstream: "BaseOperator", downstream: "BaseOperator", label: str | None = None) -> None:
    """Let one task wait for another one of its DAG; a task without DAG joins the other's."""
    dag = upstream.dag or downstream.dag
    if dag is None:
        raise DagError(
            f"The tasks {upstream.task_id!r} and {downstream.task_id!r} are in no DAG; "
            "make them inside `with DAG(...)`, or pass dag=."
        )
    for task in (upstream, downstream):
        if task.dag is None:
            dag.add_task(task)
        elif task.dag is not dag:
            raise DagError(
                f"The tasks {upstream.task_id!r} and {downstream.task_id!r} are in two DAGs; "
                "a task can only wait for tasks of its own DAG."
            )
    upstream.downstream_task_ids.add(downstream.task_id)
    downstream.upstream_task_ids.add(upstream.task_id)
    if label:
        dag.edge_labels[upstream.task_id, downstream.task_id] = label


def _cross(before: Tasks, after: Tasks, label: EdgeModifier | None) -> None:
    downstream = _items(after)
    for upstream in _items(before):
        for each in downstream:
            _link(upstream, each, label)


def _link(before: Dependent, after: Dependent, label: EdgeModifier | None) -> None:
    if isinstance(before, EdgeModifier) and isinstance(after, EdgeModifier):
        raise DagError(f"Between {before!r} and {after!r} there is no task; put one there.")
    lasts, firsts = list(before.lasts()), list(after.firsts())
    text = label.label if label else None
    for upstream, of_upstream in lasts:
        for downstream, of_downstream in firsts:
            connect(upstream, downstream, text or of_upstream or of_downstream)
    before.comes_before([(task, text or its) for task, its in firsts])
    after.comes_after([(task, text or its) for task, its in lasts])


def _items(tasks: Tasks) -> list[Dependent]:
    if isinstance(tasks, Dependent):
        return [tasks]
    if isinstance(tasks, str) or not isinstance(tasks, (list, tuple, Sequence)):
        raise DagError(f"A dependency must be a task or a list of tasks, not {shown(tasks)}.")
    return [item for each in tasks for item in _items(each)]
