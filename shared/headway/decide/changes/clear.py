"""What is cleared when a user clears tasks of a run: which instances run again."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from headway.decide.changes.intervene import Instance, Intervention, bring
from headway.decide.scheduling.graph import DagGraph
from headway.domain.errors import StillActiveError
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

    The tasks `anew` are expanded anew if anything of them is cleared.
    """

    instances: Collection[int] = ()
    anew: Collection[str] = ()


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
    return tasks | {upstream for task in tasks for upstream in _inputs(graph, task)}


def clear(
    graph: DagGraph,
    instances: Sequence[Instance],
    selection: Selection,
    besides: Besides = NOTHING,
) -> Intervention:
    """Have the selected instances run again, with the setups and teardowns that they need.

    A mapped task whose inputs may have changed is expanded anew: it goes back to one
    placeholder.  ConflictError when one of its instances has begun.
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
    cleared_tasks, by_task = tasks | around | also, _by_task(instances)
    anew = (cleared_tasks & set(besides.anew)) | {
        task
        for task in cleared_tasks - single
        if _may_change(task, _inputs(graph, task), by_task, cleared_tasks)
    }
    anew |= _mates(graph, anew, cleared_tasks - single)
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


def _mates(graph: DagGraph, anew: Collection[str], cleared: Collection[str]) -> set[str]:
    """Return the cleared tasks in the mapped groups of these: a group is expanded as one."""
    groups = {graph.group_of(task) for task in anew} - {None}
    return {task for task in cleared if graph.group_of(task) in groups}


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


def _may_change(
    task_id: str,
    inputs: Collection[str],
    by_task: Mapping[str, Sequence[Instance]],
    cleared: AbstractSet[str],
) -> bool:
    """Whether the task may be expanded otherwise than it has been.

    An input is cleared too, has not ended, or has ended again since an instance began.
    """
    if not cleared.isdisjoint(inputs):
        return True
    above = [instance for name in inputs for instance in by_task.get(name, ())]
    if any(instance.state not in TERMINAL for instance in above):
        return True
    ended = [instance.ended_at for instance in above if instance.ended_at]
    began = [instance.started_at for instance in by_task.get(task_id, ()) if instance.started_at]
    return bool(began and ended) and min(began) < max(ended)


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
