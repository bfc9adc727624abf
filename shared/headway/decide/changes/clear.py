"""What is cleared when a user clears tasks of a run: which instances run again."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from headway.decide.changes.intervene import Instance, Intervention, bring
from headway.decide.scheduling.graph import DagGraph
from headway.domain.errors import ConflictError, StillActiveError
from headway.domain.hints import Action, act, hint
from headway.domain.states import TERMINAL, TaskState

FAILED: Final = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED})
"""What `only_failed` clears."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What to clear of a run: these tasks, or all; of mapped ones one instance, or all.

    `downstream` adds what lies below them, within a mapped group only the same instance;
    `only_failed` leaves alone what has not failed, and `only_running` what does not run.
    """

    tasks: Sequence[str] = ()
    map_index: int | None = None
    downstream: bool = True
    only_failed: bool = False
    only_running: bool = False

    @property
    def partial(self) -> bool:
        """Whether of the selected tasks some instances may be left alone."""
        return self.only_failed or self.only_running or self.map_index is not None


@dataclass(frozen=True, slots=True)
class Besides:
    """What is cleared besides what a user selects: these instances.

    The tasks `anew` are expanded anew if anything of them is cleared.  `changed` are tasks in
    mapped groups that may then have other instances than before.
    """

    instances: Collection[int] = ()
    anew: Collection[str] = ()
    changed: Collection[str] = ()


NOTHING: Final = Besides()


def below(graph: DagGraph, tasks: Iterable[str]) -> set[str]:
    """Return the tasks that wait for these, directly or not; of these, those below others."""
    found: set[str] = set()
    waiting = list(tasks)
    while waiting:
        new = set(graph.downstream[waiting.pop()]) - found
        found |= new
        waiting += new
    return found


def above(graph: DagGraph, tasks: Iterable[str]) -> set[str]:
    """Return the tasks that these wait for, directly or not; of these, those above others."""
    found: set[str] = set()
    waiting = list(tasks)
    while waiting:
        new = set(graph.tasks[waiting.pop()].upstream) - found
        found |= new
        waiting += new
    return found


def selected(graph: DagGraph, selection: Selection) -> set[str]:
    """Return the tasks that are named, all if none is, with those below them if these count."""
    named = set(selection.tasks or graph.tasks)
    return named | below(graph, named) if selection.downstream else named


def scope(graph: DagGraph, selection: Selection) -> set[str]:
    """Return the tasks whose instances `clear` must be given."""
    tasks = selected(graph, selection)
    tasks |= _around(graph, tasks)
    tasks |= _mates(graph, tasks, graph.tasks)
    return tasks | {upstream for task in tasks for upstream in _inputs(graph, task)}


def clear(
    graph: DagGraph,
    instances: Sequence[Instance],
    selection: Selection,
    besides: Besides = NOTHING,
) -> Intervention:
    """Have the selected instances run again, with the setups and teardowns that they need.

    A mapped task whose inputs may have changed is expanded anew: it goes back to one
    placeholder.  ConflictError when one of its instances has begun, or when it is in a mapped
    group of which another task stays as it is.
    """
    named = selected(graph, selection)
    single = single_tasks(graph, selection.tasks, selection.map_index)
    tasks = {
        instance.task_id
        for instance in instances
        if instance.task_id in named and _picked(instance, selection, single)
    }
    around = _around(graph, tasks)
    also = {instance.task_id for instance in instances if instance.id in besides.instances}
    cleared_tasks = tasks | around | also
    changed = cleared_tasks & set(besides.changed)
    changed |= _changed(graph, instances, cleared_tasks, single)
    anew = changed | (cleared_tasks & set(besides.anew))
    anew |= _mates(graph, anew, cleared_tasks - single)
    _check_whole_groups(graph, changed, anew, instances)
    chosen = [
        instance
        for instance in instances
        if instance.task_id in anew
        or instance.id in besides.instances
        or (instance.task_id in named and _picked(instance, selection, single))
        or (instance.task_id in around and is_meant(instance, selection.map_index, single))
    ]
    placeholders, dropped = _collapsed(chosen, anew)
    kept = [instance for instance in chosen if instance.id not in dropped and _stands(instance)]
    withdrawn = bring((instance, TaskState.NONE) for instance in chosen).withdrawn
    cleared = bring((instance, TaskState.NONE) for instance in kept)
    return replace(cleared, withdrawn=withdrawn, placeholders=placeholders, dropped=sorted(dropped))


def single_tasks(graph: DagGraph, tasks: Collection[str], map_index: int | None) -> set[str]:
    """Return the tasks of which that instance alone is meant: those named, and their groups'."""
    if map_index is None:
        return set()
    groups = {graph.group_of(task) for task in tasks} - {None}
    return {*tasks, *(task for task in graph.tasks if graph.group_of(task) in groups)}


def _mates(graph: DagGraph, tasks: Iterable[str], others: Iterable[str]) -> set[str]:
    """Return those of the others that are in the mapped groups of these tasks."""
    groups = {graph.group_of(task) for task in tasks} - {None}
    return {task for task in others if graph.group_of(task) in groups}


def _unit(graph: DagGraph, task_id: str) -> tuple[str | None, str | None]:
    """Return what is expanded as one: the mapped group of a task, or else the task."""
    group = graph.group_of(task_id)
    return group, None if group else task_id


def _first_starts(
    graph: DagGraph, instances: Iterable[Instance]
) -> dict[tuple[str | None, str | None], datetime]:
    """Return when the first instance began of what is expanded as one."""
    found: dict[tuple[str | None, str | None], datetime] = {}
    for instance in instances:
        if instance.started_at:
            unit = _unit(graph, instance.task_id)
            found[unit] = min(found.get(unit, instance.started_at), instance.started_at)
    return found


def _check_whole_groups(
    graph: DagGraph,
    changed: Collection[str],
    anew: Collection[str],
    instances: Iterable[Instance],
) -> None:
    """Refuse to expand tasks of a mapped group anew, perhaps otherwise, while others stay.

    A task that is still to be expanded gets the instances that the others get.
    """
    present = {it.task_id for it in instances if it.map_index >= 0 or _stands(it)}
    staying = _mates(graph, changed, present) - set(anew)
    if staying:
        again = _mates(graph, staying, changed)
        raise ConflictError(
            f"The mapped group of {', '.join(sorted(again))} may have other instances now, since "
            "what it is expanded over is cleared or has changed. These tasks of the group would "
            f"keep theirs: {', '.join(sorted(staying))}.",
            hint=hint(
                "Clear all tasks of the group, whatever their state: its first ones with "
                "what is downstream of them."
            ),
        )


def is_meant(it: Instance, map_index: int | None, single: Collection[str]) -> bool:
    """Tell whether an instance is meant where one of some tasks is.

    What has no map index in a group stands for each.
    """
    return it.task_id not in single or it.map_index in (map_index, -1)


def _picked(it: Instance, selection: Selection, single: Collection[str]) -> bool:
    return (
        is_meant(it, selection.map_index, single)
        and (not selection.only_failed or it.state in FAILED)
        and (not selection.only_running or it.state is TaskState.RUNNING)
    )


def _stands(it: Instance) -> bool:
    """Whether there is something to clear: it has begun or ended, or waits to begin."""
    return it.state is not TaskState.NONE


def _around(graph: DagGraph, tasks: Collection[str]) -> set[str]:
    """Return the setups above these tasks that prepare for them, and the teardowns of these.

    A setup whose teardown is not below a task has been torn down before it, or never is.
    """
    found: set[str] = set()
    if not graph.setups or len(tasks) == len(graph.tasks):
        return found
    for task in tasks:
        after = below(graph, [task])
        for setup in above(graph, [task]) & graph.setups:
            teardowns = {
                task_id for task_id in graph.downstream[setup] if graph.tasks[task_id].is_teardown
            }
            if not teardowns or teardowns & after:
                found |= {setup, *teardowns}
    return found - set(tasks)


def _inputs(graph: DagGraph, task_id: str) -> set[str]:
    return {source for source, _ in graph.tasks[task_id].map_sources()}


def _by_task(instances: Iterable[Instance]) -> dict[str, list[Instance]]:
    found: dict[str, list[Instance]] = {}
    for instance in instances:
        found.setdefault(instance.task_id, []).append(instance)
    return found


def _changed(
    graph: DagGraph,
    instances: Sequence[Instance],
    cleared: AbstractSet[str],
    single: AbstractSet[str],
) -> set[str]:
    """Return the cleared tasks that may be expanded otherwise, but for the single instances."""
    by_task, began = _by_task(instances), _first_starts(graph, instances)
    return {
        task
        for task in cleared - single
        if _may_change(began.get(_unit(graph, task)), _inputs(graph, task), by_task, cleared)
    }


def _may_change(
    began: datetime | None,
    inputs: Collection[str],
    by_task: Mapping[str, Sequence[Instance]],
    cleared: AbstractSet[str],
) -> bool:
    """Whether what began then, if it did, may be expanded otherwise than it has been.

    An input is cleared too, has not ended, or has ended again since an instance began.
    """
    if not cleared.isdisjoint(inputs):
        return True
    above = [instance for name in inputs for instance in by_task.get(name, ())]
    if any(instance.state not in TERMINAL for instance in above):
        return True
    return began is not None and any(
        began < instance.ended_at for instance in above if instance.ended_at
    )


def _collapsed(chosen: Sequence[Instance], anew: Collection[str]) -> tuple[list[int], set[int]]:
    """Return which instances become placeholders, and which go."""
    first: dict[str, Instance] = {}
    dropped: set[int] = set()
    for instance in sorted(chosen, key=lambda it: it.map_index):
        if instance.task_id not in anew or instance.map_index < 0:
            continue
        if instance.begun:
            raise StillActiveError(
                f"Task {instance.name} is {instance.state}, and what it is expanded over is "
                "cleared or has changed, so that its instances are made anew.",
                hint=hint(
                    *("Cancel it first, with ", act(Action.CANCEL_TASKS)),
                    ", and clear when it has stopped.",
                ),
            )
        if instance is not first.setdefault(instance.task_id, instance):
            dropped.add(instance.id)
    return [instance.id for instance in first.values()], dropped
