"""Mapped tasks: one definition, and an instance for each item that it is expanded over."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

from headway.domain.arguments import RETURN_VALUE
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.errors import DagError
from headway.sdk.authoring.blueprint import Blueprint, OperatorBlueprint
from headway.sdk.authoring.expansion import Expansion, Items, product, rows
from headway.sdk.authoring.groups.group_argument import GroupArgument
from headway.sdk.authoring.groups.mapped_group import MappedTaskGroup, refuse_mapping
from headway.sdk.authoring.groups.task_group import TaskGroup, group_for
from headway.sdk.authoring.operator import BaseOperator, accepted_names, defaults, place
from headway.sdk.authoring.task_options import REFUSED, TASK_OPTIONS, TaskOptions
from headway.sdk.authoring.xcom_arg import XComArg, late_in, outputs_in
from headway.sdk.running.task_runtime import TaskRuntime
from headway.sdk.values import checks

if TYPE_CHECKING:
    from headway.sdk.authoring.definition import DAG


class MappedOperator(BaseOperator):
    """A task with several instances, which are made when it is known what it is expanded over.

    In the DAG it stands for all of them; `instance` makes the operator of one.
    """

    def __init__(
        self,
        *,
        task_id: str,
        blueprint: Blueprint,
        expansion: Expansion,
        **options: Unpack[TaskOptions],
    ) -> None:
        super().__init__(task_id, **options)
        self.blueprint = blueprint
        self.expansion = expansion
        needs_spark, inputs = blueprint.operator.needs_spark, expansion.inputs()
        self.change_spec(needs_spark=needs_spark, mapped_over=inputs)

    @property
    def is_mapped(self) -> bool:
        """True."""
        return True

    def needed_outputs(self) -> Iterator[XComArg]:
        """Yield the outputs that it is expanded over, and those in shared arguments."""
        yield from self.expansion.outputs()
        shared = self.shared_arguments()
        for name in self.blueprint.operator.template_fields:
            yield from outputs_in(shared.get(name))

    def shared_arguments(self) -> dict[str, Any]:
        """Return the arguments of the operator that all instances share, without the options."""
        shared = self.blueprint.filled({})
        return {name: value for name, value in shared.items() if name not in TASK_OPTIONS}

    def bundle_files(self) -> Sequence[str]:
        """Return the paths among the shared arguments and the literal items."""
        files_among = self.blueprint.operator.files_among
        given = (self.shared_arguments(), *self.expansion.literals())
        return [path for arguments in given for path in files_among(arguments)]

    def instance(self, runtime: TaskRuntime, map_index: int) -> tuple[BaseOperator, Items]:
        """Return the operator of one instance, and the items that it is for."""
        where = f"{self.where}, instance {map_index}"
        items = self.expansion.items(runtime, map_index)
        self.blueprint.check(items.arguments, where)
        self.blueprint.check_complete(items.arguments, where)
        given = self.blueprint.filled(items.arguments)
        given.pop("task_group", None)  # it would add to the id, which is the task's
        arguments = {**given, "task_id": self.task_id}
        with self.dag or nullcontext():
            operator = self.blueprint.operator.make_apart(arguments, lambda: where)
        operator.dag, operator.task_group = self.dag, self.task_group
        operator.set_spec_fields(self.spec_fields)
        operator.run_conditions = self.run_conditions
        operator.upstream_task_ids = self.upstream_task_ids
        operator.downstream_task_ids = self.downstream_task_ids
        return operator, items


@dataclass(eq=False)
class OperatorPartial:
    """An operator with some of its arguments: what `BashOperator.partial(…)` returns.

    It is no task before `expand` or `expand_kwargs` makes one.
    """

    operator: type[BaseOperator]
    arguments: dict[str, Any]
    where: str = field(init=False)
    group: TaskGroup | None = field(init=False)
    expanded: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.group = group_for(self.arguments)
        dag = self.group.dag if self.group else None
        self.where = place(dag, self.arguments.get("task_id"))
        name = f"{self.operator.__name__}.partial()"
        checks.known(
            self.arguments, accepted_names(self.operator), f"{self.where}: {name}", REFUSED
        )
        if "task_id" not in self.arguments:
            raise DagError(f"{self.where}: {name} needs a task_id; pass task_id=….")
        if dag is not None:
            dag.partials.append(self)
        self._defaults = defaults(self.operator, self.group)

    def expand(self, **arguments: Any) -> MappedOperator:
        """Make a task with one instance for each combination of items of these arguments."""
        return self._task(expand(self._blueprint(), arguments, self.where, self.group))

    def expand_kwargs(self, kwargs: Any) -> MappedOperator:
        """Make a task with one instance for each dictionary of arguments in a list."""
        return self._task(expand_kwargs(self._blueprint(), kwargs, self.where, self.group))

    def _blueprint(self) -> OperatorBlueprint:
        given = {name: value for name, value in self.arguments.items() if name != "task_id"}
        return OperatorBlueprint(self.operator, self._defaults, given)

    def _task(self, expansion: Expansion) -> MappedOperator:
        self.expanded = True
        return mapped_task(self.arguments["task_id"], self.group, self._blueprint(), expansion)


def expand(
    blueprint: Blueprint, values: dict[str, object], where: str, group: TaskGroup | None
) -> Expansion:
    """Return the expansion over these arguments, which must fit the blueprint, in that group."""
    refuse_mapping(group, where)
    _check(blueprint, values, f"{where}: expand()")
    return product(values, where)


def expand_kwargs(
    blueprint: Blueprint, kwargs: object, where: str, group: TaskGroup | None
) -> Expansion:
    """Return the expansion over these dictionaries, those known so far fit the blueprint."""
    refuse_mapping(group, where)
    found = rows(kwargs, where)
    seen: set[frozenset[str]] = set()
    for row in found.literals():
        names = frozenset(row)
        if names not in seen:
            _check(blueprint, sorted(names), f"{where}: expand_kwargs()")
            seen.add(names)
    return found


def mapped_task(
    task_id: str, group: TaskGroup | None, blueprint: Blueprint, expansion: Expansion
) -> MappedOperator:
    """Make the task, in that group, or in the DAG of its options."""
    options = {name: value for name, value in blueprint.arguments.items() if name in TASK_OPTIONS}
    options["task_group"] = group
    made = MappedOperator(task_id=task_id, blueprint=blueprint, expansion=expansion, **options)
    assert isinstance(made, MappedOperator)
    return made


def check_mapping(dag: "DAG") -> None:
    """Refuse what can be seen to be wrong with mapped tasks only when the DAG is finished."""
    for partial in dag.partials:
        if not partial.expanded:
            raise DagError(
                f"{partial.where}: partial() alone makes no task; call expand() or "
                "expand_kwargs() on what it returns."
            )
    groups = [it for it in dag.task_group_dict.values() if isinstance(it, MappedTaskGroup)]
    for group in groups:
        group.connect_inputs()
    for task in dag.tasks:
        if groups:
            _check_in_groups(task)
        for task_id, key in chain.from_iterable(each.sources() for each in task.map_inputs()):
            _check_source(task, dag.get_task(task_id), key)


def _check_in_groups(task: BaseOperator) -> None:
    """Refuse a mapped task in a mapped group, and an argument of such a group outside of it."""
    if isinstance(task, MappedOperator):
        refuse_mapping(task.task_group, task.where)
    given = task.shared_arguments() if isinstance(task, MappedOperator) else task.given_arguments
    for found in late_in(given):
        if isinstance(found, GroupArgument) and found.group is not task.mapped_group:
            raise DagError(
                f"{task.where}: it uses the argument {found.name!r} of the mapped task group "
                f"{found.group.group_id!r}, in which it is not; pass it the output of a task there."
            )


def _check_source(task: BaseOperator, source: BaseOperator, key: str) -> None:
    if task.spec.trigger_rule is TriggerRule.ALWAYS and task.mapped_group is None:
        raise DagError(
            f"{task.where}: it is expanded over the output of {source.task_id!r}, for which "
            "trigger_rule 'always' does not wait; choose another rule, such as all_done."
        )
    if key == RETURN_VALUE and not source.do_xcom_push:
        raise DagError(
            f"{task.where}: it is expanded over what {source.task_id!r} returns, which has "
            "do_xcom_push=False; remove that."
        )


def _check(blueprint: Blueprint, names: Collection[str], where: str) -> None:
    blueprint.check(names, where)
    if names:
        blueprint.check_complete(names, where)
