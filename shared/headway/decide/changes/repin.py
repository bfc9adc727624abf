"""What becomes of the tasks of a run that is given another version of its DAG, and cleared."""

from collections.abc import Iterable, Sequence

from headway.decide.changes.clear import Besides, Selection, clear, selected
from headway.decide.changes.intervene import Instance, Intervention, bring, together
from headway.decide.scheduling.graph import DagGraph
from headway.domain.errors import StillActiveError
from headway.domain.hints import Action, act, hint
from headway.domain.states import TERMINAL, TaskState


def repin(
    was: DagGraph, graph: DagGraph, instances: Sequence[Instance], selection: Selection
) -> Intervention:
    """Clear the selected instances of a run that is to have the version `graph`.

    What that version lacks is removed; what runs of it is told to stop, and is removed when
    it has.  What was removed and is in it comes back.  Of all others, those that have not
    begun are decided anew, those that run go on, and those that have ended stay.
    ConflictError when one minds what is left on a cluster: its own version can end that.  Also
    when part of a mapped group would stay that is expanded over something else.
    """
    for instance in instances:
        if instance.minds:
            raise StillActiveError(
                f"Task {instance.name} minds an application on a cluster, which is for the version "
                "to do that the run has now.",
                hint=hint(
                    "Give it another one when that has ended, to which ",
                    *(act(Action.CANCEL_TASKS), " brings it."),
                ),
            )
    here = [instance for instance in instances if instance.task_id in graph.tasks]
    gone = [instance for instance in instances if instance.task_id not in graph.tasks]
    cleared = clear(graph, here, selection, _besides(was, graph, here, selection))
    return together([cleared, _removed(gone)])


def _removed(gone: Iterable[Instance]) -> Intervention:
    """Remove what no version has; of what has begun the scheduler does so, when it is undecided."""
    left = [instance for instance in gone if instance.state is not TaskState.REMOVED]
    return bring(
        (instance, TaskState.NONE if instance.begun else TaskState.REMOVED) for instance in left
    )


def _besides(
    was: DagGraph, graph: DagGraph, here: Sequence[Instance], selection: Selection
) -> Besides:
    back = [instance for instance in here if instance.state is TaskState.REMOVED]
    waiting = [
        instance for instance in here if instance.state not in TERMINAL and not instance.begun
    ]
    part = selection.partial
    wholly = set() if part else selected(graph, selection)
    otherwise = {
        instance.task_id for instance in here if _mapped_otherwise(was, graph, instance.task_id)
    }
    anew = wholly | otherwise | {instance.task_id for instance in back}
    changed = _in_changed_groups(was, graph)
    return Besides({instance.id for instance in (*back, *waiting)}, anew, changed)


def _in_changed_groups(was: DagGraph, graph: DagGraph) -> set[str]:
    """Return the tasks in the mapped groups that are expanded over something else than before.

    A task that `was` lacks says nothing about that.
    """
    groups = {
        group
        for task_id, group in graph.mapped_groups.items()
        if task_id in was.tasks
        and was.tasks[task_id].mapped_over != graph.tasks[task_id].mapped_over
    }
    return {task_id for task_id, group in graph.mapped_groups.items() if group in groups}


def _mapped_otherwise(was: DagGraph, graph: DagGraph, task_id: str) -> bool:
    before, now = was.tasks.get(task_id), graph.tasks[task_id]
    if before is None or before.mapped_over != now.mapped_over:
        return True
    return (before.mapped_group is None) is not (now.mapped_group is None)
