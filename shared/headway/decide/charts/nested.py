"""A graph of tasks in groups as graphs within graphs, each of what is right in a group."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

from headway.decide.charts.outline import groups_around
from headway.domain.dag.task_groups import GroupSpec

Edge: TypeAlias = tuple[str, str]
Path: TypeAlias = tuple[str, ...]
"""The groups around a task from the outermost on, and at last the task or a folded group."""


@dataclass(frozen=True, slots=True)
class GraphLevel:
    """What is right in a group: tasks and groups, given those right above each of them.

    `inside` has the levels of groups that are open, `folded` the tasks of those that are not.
    An edge between two groups stands for all edges between tasks of these, and has all their
    `labels`.
    """

    upstream: Mapping[str, Sequence[str]]
    labels: Mapping[Edge, Sequence[str]] = field(default_factory=dict)
    inside: "Mapping[str, GraphLevel]" = field(default_factory=dict)
    folded: Mapping[str, Sequence[str]] = field(default_factory=dict)


def nested(
    upstream: Mapping[str, Sequence[str]],
    groups: Iterable[GroupSpec] = (),
    folded: Set[str] = frozenset(),
    labels: Mapping[Edge, str] | None = None,
) -> GraphLevel:
    """Return the graph of tasks, given those right above each of them.

    A path may lead out of a group and into it again.  Such a group is left out, as no place is
    left for it: what is in it is part of the group around it.
    """
    around = groups_around(groups)
    left_out: set[str] = set()
    while True:
        paths = {task: _path(task, around, left_out, folded) for task in upstream}
        levels = _levels(upstream, paths, labels or {})
        cycle = next((found for its in levels.values() if (found := _cycle(its))), None)
        if cycle is None:
            return _level((), levels, paths)
        left_out |= {name for name in cycle if name not in upstream}


def _path(task: str, around: Mapping[str, Path], left_out: Set[str], folded: Set[str]) -> Path:
    found: list[str] = []
    for group in around.get(task, ()):
        if group not in left_out:
            found.append(group)
            if group in folded:
                return tuple(found)
    return (*found, task)


_Levels: TypeAlias = dict[Path, dict[str, dict[str, list[str]]]]
"""By the path of a group: what is right in it, and above each its neighbours with the labels."""


def _levels(
    upstream: Mapping[str, Sequence[str]],
    paths: Mapping[str, Path],
    labels: Mapping[Edge, str],
) -> _Levels:
    found: _Levels = {(): {}}
    for path in paths.values():
        for depth, name in enumerate(path):
            found.setdefault(path[:depth], {}).setdefault(name, {})
    for task, its in upstream.items():
        for above in its:
            if above not in paths or paths[above] == paths[task]:
                continue
            shared = _shared(paths[above], paths[task])
            end = found[paths[task][:shared]][paths[task][shared]]
            said = end.setdefault(paths[above][shared], [])
            if (label := labels.get((above, task))) and label not in said:
                said.append(label)
    return found


def _shared(one: Path, other: Path) -> int:
    """Return how many groups are around both."""
    return next(nth for nth, both in enumerate(zip(one, other, strict=False)) if both[0] != both[1])


def _cycle(members: Mapping[str, Mapping[str, object]]) -> Sequence[str] | None:
    try:
        TopologicalSorter(members).prepare()
    except CycleError as error:
        cycle: Sequence[str] = error.args[1]
        return cycle
    return None


def _level(path: Path, levels: _Levels, paths: Mapping[str, Path]) -> GraphLevel:
    members = levels[path]
    folded: dict[str, list[str]] = {}
    for task, its in paths.items():
        if its[:-1] == path and its[-1] != task:
            folded.setdefault(its[-1], []).append(task)
    return GraphLevel(
        upstream={name: list(above) for name, above in members.items()},
        labels={
            (above, name): said
            for name, its in members.items()
            for above, said in its.items()
            if said
        },
        inside={
            name: _level((*path, name), levels, paths)
            for name in members
            if (*path, name) in levels
        },
        folded=folded,
    )
