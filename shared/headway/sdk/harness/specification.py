"""Turn a DAG into its specification: pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from os.path import normpath
from pathlib import Path
from typing import Any, Final

from headway.domain.arguments import PLAIN, JsonValue, encode_argument, is_bare
from headway.domain.dag.spec import DagSpec, TaskSpec
from headway.domain.dag.task_groups import EdgeLabel, GroupSpec
from headway.domain.errors import DagError
from headway.sdk.authoring.definition import DAG
from headway.sdk.authoring.groups.group_argument import GroupArgument
from headway.sdk.authoring.groups.task_group import TaskGroup
from headway.sdk.authoring.mapped import MappedOperator, check_mapping
from headway.sdk.authoring.operator import BaseOperator, accepted_names
from headway.sdk.authoring.task_options import REFUSED
from headway.sdk.authoring.xcom_arg import LATE, late_in, transform
from headway.sdk.context import template_files
from headway.sdk.harness import version_templates
from headway.sdk.running.dag_param import DagParam
from headway.sdk.running.tracebacks import shown_names
from headway.sdk.values import checks

_LATE_NAMES: Final = {DagParam: "a param", GroupArgument: "an argument of a mapped group"}


def to_spec(dag: DAG, relative_path: str) -> DagSpec:
    """Return the specification of a finished DAG, whose file has this path in its bundle."""
    _check_default_args(dag)
    check_mapping(dag)
    template_files.check_searchpath(dag)
    spec = replace(
        dag.spec,
        relative_path=relative_path,
        tasks=tuple(_task_spec(task) for task in _in_order(dag)),
        files=_bundle_files(dag),
        groups=tuple(_group_spec(group) for group in dag.task_group_dict.values()),
        labels=tuple(
            EdgeLabel(upstream=upstream, downstream=downstream, label=label)
            for (upstream, downstream), label in sorted(dag.edge_labels.items())
        ),
    )
    if spec.param_schemas or any(task.param_schemas for task in spec.tasks):
        from headway.domain.dag.params import check_declared  # few DAGs have use for it

        check_declared(spec)
    return spec.notifying(spec.notifiers) if spec.notifiers else spec


def _in_order(dag: DAG) -> list[BaseOperator]:
    graph = {task.task_id: sorted(task.upstream_task_ids) for task in dag.tasks}
    try:
        return [dag.task_dict[task_id] for task_id in TopologicalSorter(graph).static_order()]
    except CycleError as error:
        cycle = " -> ".join(error.args[1])
        raise DagError(f"DAG {dag.dag_id!r} has a cycle: {cycle}. Remove one of these.") from None


def _task_spec(task: BaseOperator) -> TaskSpec:
    group = task.mapped_group
    of_dag: dict[str, Any] = {
        "mapped_over": task.map_inputs(),
        "mapped_group": None if group is None else group.group_id,
        "operator": _operator_name(_class_of(task)),
        "arguments": _arguments(task),
        "upstream": tuple(sorted(task.upstream_task_ids)),
    }
    return TaskSpec(**{**task.spec_fields, **of_dag})


def _group_spec(group: TaskGroup) -> GroupSpec:
    assert group.group_id is not None
    assert group.parent_group is not None
    return GroupSpec(
        group_id=group.group_id,
        parent=group.parent_group.group_id,
        tasks=tuple(
            name for name, child in group.children.items() if not isinstance(child, TaskGroup)
        ),
        tooltip=group.tooltip or None,
        display_name=group.group_display_name or None,
    )


def _class_of(task: BaseOperator) -> type[BaseOperator]:
    return task.blueprint.operator if isinstance(task, MappedOperator) else type(task)


def _operator_name(operator: type[BaseOperator]) -> str:
    registered = operator.__dict__.get("operator_name")
    return registered or shown_names(f"{operator.__module__}.{operator.__qualname__}")


def _arguments(task: BaseOperator) -> Mapping[str, JsonValue]:
    try:
        return _encoded(task)
    except DagError as error:  # it names the argument
        raise DagError(f"{task.where}: {error}") from None


def _encoded(task: BaseOperator) -> Mapping[str, JsonValue]:
    operator = _class_of(task)
    fields = operator.template_fields
    given = task.shared_arguments() if isinstance(task, MappedOperator) else task.given_arguments
    encoded: dict[str, JsonValue] = {}
    for name, value in given.items():
        if name not in fields:
            _refuse_late(name, value, fields)
        encoded[name] = encode_argument(_as_data(value, operator), name)
    if isinstance(task, MappedOperator):
        for name, value in task.expansion.data().items():
            encoded[name] = encode_argument(_as_data(value, operator), name)
    return encoded


def _refuse_late(name: str, value: object, fields: Sequence[str]) -> None:
    for found in late_in(value):
        what = _LATE_NAMES.get(type(found), "the output of another task")
        raise DagError(
            f"{name} is {what}, but no template field; these are: {', '.join(fields) or 'none'}."
        )


def _as_data(value: object, operator: type[BaseOperator]) -> object:
    """Replace outputs and params by references; code is part of the file: its name will do."""
    if type(value) in PLAIN:
        return operator.as_data(value)
    if is_bare(value):
        return value
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return transform(
        value,
        lambda leaf: leaf.reference if isinstance(leaf, LATE) else operator.as_data(leaf),
        operator.key_as_data,
    )


def _bundle_files(dag: DAG) -> tuple[str, ...]:
    if dag.file is None:
        return ()
    root = dag.file.bundle_root
    found = {
        Path(normpath(dag.file.path.parent / path))
        for task in dag.tasks
        for path in task.bundle_files()
    }
    found |= version_templates.of_tasks(dag)
    return tuple(
        sorted(
            path.relative_to(root).as_posix()
            for path in found
            if path.is_file() and path.is_relative_to(root)
        )
    )


def _check_default_args(dag: DAG) -> None:
    if dag.default_args and dag.tasks:
        dag.check_default_args(_accepted(dag.tasks))
    for name, group in dag.task_group_dict.items():
        where = f"DAG {dag.dag_id!r}, task group {name!r}: default_args"
        if group.own_default_args and (tasks := list(group)):
            checks.known(group.own_default_args, _accepted(tasks), where, REFUSED)


def _accepted(tasks: Sequence[BaseOperator]) -> set[str]:
    return set().union(*(accepted_names(_class_of(task)) for task in tasks))
