"""What follows from what has ended in a run since the last look, by counts alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import Counts, Settlement
from headway.decide.scheduling.tallies import added
from headway.domain.dag.trigger_rules import Tally, Verdict, judge
from headway.domain.states import TaskState


@dataclass(frozen=True, slots=True)
class Undecided:
    """A task instance without a decision, and how its upstream stood when last looked at."""

    id: int
    task_id: str
    tally: Tally
    map_index: int = -1


def arrivals(graph: DagGraph, ended: Mapping[str, Counts]) -> dict[str, dict[TaskState, int]]:
    """Return for each task below those in `ended` how many upstream instances ended how."""
    arrived: dict[str, dict[TaskState, int]] = {}
    for upstream, counts in ended.items():
        for task_id in graph.downstream.get(upstream, ()):
            sums = arrived.setdefault(task_id, {})
            for state, number in counts.items():
                sums[state] = sums.get(state, 0) + number
    return arrived


def advance(
    graph: DagGraph, arrived: Mapping[str, Counts], undecided: Iterable[Undecided], left: int
) -> Settlement | None:
    """Decide for the undecided tasks right below those that have ended since the last look.

    `left` instances of the run have not ended.  None when it takes a whole look: the run
    may be over, a task will never run (which decides for those below it), or a mapped
    task is to be expanded.
    """
    if left <= 0:
        return None
    ready: list[int] = []
    waiting: dict[int, Tally] = {}
    for instance in undecided:
        task = graph.tasks[instance.task_id]
        tally = added(instance.tally, arrived[instance.task_id])
        verdict = judge(task.trigger_rule, tally)
        if verdict is Verdict.WAIT:
            waiting[instance.id] = tally
        elif verdict is Verdict.RUN and not task.mapped_over:
            ready.append(instance.id)
        else:
            return None
    moves = {TaskState.SCHEDULED: ready} if ready else {}
    return Settlement(moves, waiting=waiting, unfinished=left)
