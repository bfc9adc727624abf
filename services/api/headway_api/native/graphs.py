"""Graphs of tasks: nodes in layers, and edges."""

from collections.abc import Mapping

from pydantic import BaseModel

from headway.decide.charts.layers import layers
from headway.domain.dag.mapped_groups import mapped_groups
from headway.domain.dag.spec import DagSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import TaskState


class GraphNode(BaseModel):
    """A task of a graph.

    `layer` counts from 0: each task stands in the first layer below all that it waits for.  A
    `mapped` task may have several instances in a run.  `group` is the innermost group that it is
    in; `display_name` is what people call it.
    """

    task_id: str
    display_name: str
    group: str | None
    layer: int
    operator: str
    trigger_rule: TriggerRule
    mapped: bool
    setup: bool
    teardown: bool
    pool: str
    queue: str


class RunNode(GraphNode):
    """A task of a run, and how many of its instances are in each state."""

    instances: dict[TaskState, int]


class GraphEdge(BaseModel):
    """One task waits for another one: `downstream` for `upstream`; `label` is written on it."""

    upstream: str
    downstream: str
    label: str | None


class GraphGroup(BaseModel):
    """A group of tasks; `parent` is the group that it is in itself.

    Of a `mapped` group each task may have several instances in a run.
    """

    group_id: str
    display_name: str
    parent: str | None
    tooltip: str | None
    mapped: bool


def nodes(dag: DagSpec) -> list[GraphNode]:
    """Return the tasks as nodes, in topological order."""
    places = layers(dag.tasks)
    groups = {task_id: group.group_id for group in dag.groups for task_id in group.tasks}
    return [
        GraphNode(
            task_id=task.task_id,
            display_name=task.task_display_name or task.task_id,
            group=groups.get(task.task_id),
            layer=places[task.task_id],
            operator=task.operator,
            trigger_rule=task.trigger_rule,
            mapped=bool(task.mapped_over),
            setup=task.is_setup,
            teardown=task.is_teardown,
            pool=task.pool,
            queue=task.queue,
        )
        for task in dag.tasks
    ]


def run_nodes(dag: DagSpec, states: Mapping[str, Mapping[TaskState, int]]) -> list[RunNode]:
    """Return the tasks of a run as nodes, with the states of their instances."""
    return [
        RunNode(**node.model_dump(), instances=dict(states.get(node.task_id, {})))
        for node in nodes(dag)
    ]


def edges(dag: DagSpec) -> list[GraphEdge]:
    """Return who waits for whom."""
    labels = {(each.upstream, each.downstream): each.label for each in dag.labels}
    return [
        GraphEdge(upstream=above, downstream=task.task_id, label=labels.get((above, task.task_id)))
        for task in dag.tasks
        for above in task.upstream
    ]


def groups(dag: DagSpec) -> list[GraphGroup]:
    """Return the groups, each after the one that it is in."""
    mapped = mapped_groups(dag)
    return [
        GraphGroup(
            group_id=group.group_id,
            display_name=group.display_name or group.group_id,
            parent=group.parent,
            tooltip=group.tooltip,
            mapped=group.group_id in mapped,
        )
        for group in dag.groups
    ]
