"""Dependencies between tasks: `>>`, `<<`, chain, cross_downstream, and `with` a setup."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from headway.domain.errors import DagError
from headway.sdk.authoring.current import enter_scope, leave_scope
from headway.sdk.values.checks import shown

if TYPE_CHECKING:
    from headway.sdk.authoring.operator import BaseOperator

Tasks: TypeAlias = "Dependent | Sequence[Dependent]"
AnyTasks = TypeVar("AnyTasks", bound="Tasks")


class Dependent:
    """What stands on either side of `>>`: a task, or the output of one."""

    def as_operator(self) -> "BaseOperator":
        """Return the task that the dependency is about."""
        raise NotImplementedError

    def set_downstream(self, other: Tasks) -> None:
        """Let `other` wait for this."""
        cross_downstream(self, other)

    def set_upstream(self, other: Tasks) -> None:
        """Let this wait for `other`."""
        cross_downstream(other, self)

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


def cross_downstream(from_tasks: Tasks, to_tasks: Tasks) -> None:
    """Let each of `to_tasks` wait for all of `from_tasks`."""
    for upstream in _operators(from_tasks):
        for downstream in _operators(to_tasks):
            connect(upstream, downstream)


def chain(*tasks: Tasks) -> None:
    """Let each element wait for the one before it; of two lists, task by task."""
    for before, after in pairwise(tasks):
        upstream, downstream = _operators(before), _operators(after)
        if isinstance(before, Dependent) or isinstance(after, Dependent):
            cross_downstream(before, after)
        elif len(upstream) != len(downstream):
            raise DagError(
                f"chain cannot link a list of {len(upstream)} tasks to one of {len(downstream)}; "
                "make them equally long, or use cross_downstream."
            )
        else:
            for pair in zip(upstream, downstream, strict=True):
                connect(*pair)


def connect(upstream: "BaseOperator", downstream: "BaseOperator") -> None:
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


def _operators(tasks: Tasks) -> "list[BaseOperator]":
    if isinstance(tasks, Dependent):
        return [tasks.as_operator()]
    if isinstance(tasks, str) or not isinstance(tasks, (list, tuple, Sequence)):
        raise DagError(f"A dependency must be a task or a list of tasks, not {shown(tasks)}.")
    return [operator for task in tasks for operator in _operators(task)]
