"""What becomes of the tasks of a run that is given another version of its DAG, and cleared."""

from collections.abc import Iterable, Sequence

from headway.decide.changes.clear import Besides, Selection, clear, selected
from headway.decide.changes.intervene import Instance, Intervention, bring, together
from headway.decide.scheduling.graph import DagGraph
from headway.domain.errors import ConflictError
from headway.domain.states import TERMINAL, TaskState


def repin(
    was: DagGraph, graph: DagGraph, instances: Sequence[Instance], selection: Selection
) -> Intervention:
    """Clear the selected instances of a run that is to have the version `graph`.

    What that version lacks is removed; what runs of it is told to stop, and is removed when
    it has.  What was removed and is in it comes back.  Of all others, those that have not
    begun are decided anew, those that run go on, and those that have ended stay.
    ConflictError when one minds what is left on a cluster: its own version can end that.
    """
    for it in instances:
        if it.minds:
            raise ConflictError(
                f"Task {it.name} minds an application on a cluster, which is for the version to do "
                "that the run has now: give it another one when that has ended, to which "
                "`headway tasks cancel` brings it."
            )
    here = [it for it in instances if it.task_id in graph.tasks]
    gone = [it for it in instances if it.task_id not in graph.tasks]
    cleared = clear(graph, here, selection, _besides(was, graph, here, selection))
    return together([cleared, _removed(gone)])


def _removed(gone: Iterable[Instance]) -> Intervention:
    """Remove what no version has; of what has begun the scheduler does so, when it is undecided."""
    left = [it for it in gone if it.state is not TaskState.REMOVED]
    return bring((it, TaskState.NONE if it.begun else TaskState.REMOVED) for it in left)


def _besides(
    was: DagGraph, graph: DagGraph, here: Sequence[Instance], selection: Selection
) -> Besides:
    back = [it for it in here if it.state is TaskState.REMOVED]
    waiting = [it for it in here if it.state not in TERMINAL and not it.begun]
    part = selection.only_failed or selection.map_index is not None
    wholly = set() if part else selected(graph, selection)
    otherwise = {it.task_id for it in here if _mapped_otherwise(was, graph, it.task_id)}
    anew = wholly | otherwise | {it.task_id for it in back}
    return Besides({it.id for it in (*back, *waiting)}, anew)


def _mapped_otherwise(was: DagGraph, graph: DagGraph, task_id: str) -> bool:
    before = was.tasks.get(task_id)
    return before is None or before.mapped_over != graph.tasks[task_id].mapped_over
