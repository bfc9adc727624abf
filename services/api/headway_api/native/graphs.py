"""Graphs of tasks: nodes in layers, and edges."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from headway.decide.charts.layers import layers
from headway.domain.dag.spec import TaskSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import TaskState


class GraphNode(BaseModel):
    """A task of a graph.

    `layer` counts from 0: each task stands in the first layer below all that it waits for.  A
    `mapped` task may have several instances in a run.
    """

    task_id: str
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
    """One task waits for another one: `downstream` for `upstream`."""

    upstream: str
    downstream: str


def nodes(tasks: Sequence[TaskSpec]) -> list[GraphNode]:
    """Return the tasks as nodes, in topological order."""
    places = layers(tasks)
    return [
        GraphNode(
            task_id=task.task_id,
            layer=places[task.task_id],
            operator=task.operator,
            trigger_rule=task.trigger_rule,
            mapped=bool(task.mapped_over),
            setup=task.is_setup,
            teardown=task.is_teardown,
            pool=task.pool,
            queue=task.queue,
        )
        for task in tasks
    ]


def run_nodes(
    tasks: Sequence[TaskSpec], states: Mapping[str, Mapping[TaskState, int]]
) -> list[RunNode]:
    """Return the tasks of a run as nodes, with the states of their instances."""
    return [
        RunNode(**node.model_dump(), instances=dict(states.get(node.task_id, {})))
        for node in nodes(tasks)
    ]


def edges(tasks: Sequence[TaskSpec]) -> list[GraphEdge]:
    """Return who waits for whom."""
    return [
        GraphEdge(upstream=above, downstream=task.task_id)
        for task in tasks
        for above in task.upstream
    ]
