"""Priority weights: how much of the tasks around it counts for a task."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, Protocol

HEAVIEST: Final = 2**31 - 1
"""The largest weight that the database stores; a sum beyond it is cut off."""


class WeightRule(StrEnum):
    """The rules of Airflow, with the same names and the same meaning."""

    DOWNSTREAM = "downstream"
    UPSTREAM = "upstream"
    ABSOLUTE = "absolute"


class Weighted(Protocol):
    """What counts of a task."""

    @property
    def task_id(self) -> str:
        """The task's name."""

    @property
    def upstream(self) -> tuple[str, ...]:
        """The tasks that it waits for."""

    @property
    def priority_weight(self) -> int:
        """The weight of the task alone."""

    @property
    def weight_rule(self) -> WeightRule:
        """Which others add theirs."""


def priorities(tasks: Sequence[Weighted]) -> dict[str, int]:
    """Return the effective weight of each task; `tasks` are in topological order.

    Its own for the rule absolute; with those of all tasks below it for downstream, of
    all above it for upstream, each counted once.
    """
    positions = {task.task_id: position for position, task in enumerate(tasks)}
    upstream = [[positions[above] for above in task.upstream] for task in tasks]
    downstream: list[list[int]] = [[] for _ in tasks]
    for position, above in enumerate(upstream):
        for other in above:
            downstream[other].append(position)
    related: Mapping[WeightRule, Callable[[], Sequence[int]]] = {
        WeightRule.DOWNSTREAM: lambda: _reached(downstream, range(len(tasks) - 1, -1, -1)),
        WeightRule.UPSTREAM: lambda: _reached(upstream, range(len(tasks))),
    }
    used = {task.weight_rule for task in tasks} & related.keys()
    reached = {rule: related[rule]() for rule in used}
    alike = _alike([task.priority_weight for task in tasks])
    found = {}
    for position, task in enumerate(tasks):
        members = reached[task.weight_rule][position] if task.weight_rule in reached else 0
        others = sum(weight * (members & bits).bit_count() for weight, bits in alike.items())
        found[task.task_id] = min(task.priority_weight + others, HEAVIEST)
    return found


def _reached(edges: Sequence[Sequence[int]], order: Sequence[int]) -> list[int]:
    """Return for each task the set of those that its edges lead to, as the bits of a number."""
    reached = [0] * len(edges)
    for position in order:
        for other in edges[position]:
            reached[position] |= reached[other] | 1 << other
    return reached


def _alike(weights: Sequence[int]) -> dict[int, int]:
    """Return for each weight the set of the tasks that have it, as the bits of a number."""
    alike: dict[int, int] = {}
    for position, weight in enumerate(weights):
        alike[weight] = alike.get(weight, 0) | 1 << position
    return alike
