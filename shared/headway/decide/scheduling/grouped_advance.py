"""What follows from what has ended in a run with mapped groups, by counts alone."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headway.decide.scheduling import grouped
from headway.decide.scheduling.advance import Undecided
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import Settlement
from headway.decide.scheduling.tallies import added
from headway.domain.dag.spec import TaskSpec
from headway.domain.dag.trigger_rules import Tally, Verdict, judge
from headway.domain.states import TaskState

_ENDS = {Verdict.SKIP: TaskState.SKIPPED, Verdict.UPSTREAM_FAILED: TaskState.UPSTREAM_FAILED}


@dataclass(frozen=True, slots=True)
class Ended:
    """A task instance that has ended, and the tasks that it chose not to run."""

    task_id: str
    map_index: int
    state: TaskState
    skips: Sequence[str] = ()


def reached(graph: DagGraph, ended: Iterable[Ended]) -> set[tuple[str, int]]:
    """Return the instances, by task and map index, that `advance_by_index` may decide about.

    Within a mapped group these are all below: one that never runs decides for those below it.
    An instance that another one chose not to run is among them, with all below it, though there
    may be no path within the group.  The tasks that are expanded over a task are too, though they
    need not wait for it.  A task that is still to be expanded has the map index -1.
    """
    found: set[tuple[str, int]] = set()
    for one in ended:
        chosen = set(grouped.mates(graph, one.task_id, one.skips))
        found.update((name, one.map_index) for name in chosen)
        found.update((name, -1) for name in chosen)
        found.update((name, -1) for name in graph.group_inputs.get(one.task_id, ()))
        for task_id in {one.task_id, *chosen} & graph.tasks.keys():
            inside, outside = graph.reach[task_id]
            found.update((name, one.map_index) for name in inside)
            found.update((name, -1) for name in outside)
    return found


@dataclass(slots=True)
class _Wave:
    """What arrives at the instances, by task and then by map index, and what is decided."""

    graph: DagGraph
    undecided: Mapping[tuple[str, int], Undecided]
    left: int
    skipped: Collection[tuple[str, int]]
    arrived: dict[str, dict[int, dict[TaskState, int]]] = field(default_factory=dict)
    moves: dict[TaskState, list[int]] = field(default_factory=dict)
    waiting: dict[int, Tally] = field(default_factory=dict)

    def arrive(self, task_id: str, map_index: int, state: TaskState) -> None:
        """Tell what is below an instance that it has ended in that state."""
        group = self.graph.group_of(task_id)
        for name in self.graph.downstream.get(task_id, ()):
            same = group is not None and group == self.graph.group_of(name)
            counts = self._at(name, map_index if same else -1)
            counts[state] = counts.get(state, 0) + 1

    def expect(self, task_id: str, map_index: int) -> None:
        """Have an instance decided about, whether or not something arrives at it."""
        self._at(task_id, map_index)

    def decide(self, task: TaskSpec, map_index: int, counts: Mapping[TaskState, int]) -> bool:
        """Decide about an instance; False when it takes a whole look."""
        instance = self.undecided.get((task.task_id, map_index))
        if instance is None:  # it has a decision, or is stored by another map index
            if map_index < 0:
                return task.mapped_group is None
            return (task.task_id, -1) not in self.undecided
        tally = added(instance.tally, counts)
        verdict = judge(task.trigger_rule, tally)
        if (task.task_id, map_index) in self.skipped:
            verdict = Verdict.SKIP
        if verdict is Verdict.WAIT:
            if counts:
                self.waiting[instance.id] = tally
            return True
        if map_index < 0 and (task.mapped_over or verdict is not Verdict.RUN):
            return False
        state = _ENDS.get(verdict, TaskState.SCHEDULED)
        self.moves.setdefault(state, []).append(instance.id)
        if state is not TaskState.SCHEDULED:
            self.left -= 1
            self.arrive(task.task_id, map_index, state)
        return True

    def _at(self, task_id: str, map_index: int) -> dict[TaskState, int]:
        return self.arrived.setdefault(task_id, {}).setdefault(map_index, {})


def advance_by_index(
    graph: DagGraph, ended: Sequence[Ended], undecided: Iterable[Undecided], left: int
) -> Settlement | None:
    """Decide for the undecided instances below those that have ended since the last look.

    `undecided` are those of the instances that are `reached`.  `left` instances of the run have
    not ended.  None when it takes a whole look, as for `advance`; but an instance in a mapped
    group that will never run is decided about here, with those below it in the group.
    """
    choices = {(one.task_id, one.map_index): one.skips for one in ended}
    skips, skipped = grouped.skips(graph, choices)
    if skips:
        return None
    wave = _Wave(graph, {(it.task_id, it.map_index): it for it in undecided}, left, skipped)
    for one in ended:
        wave.arrive(one.task_id, one.map_index, one.state)
    expected = {(name, -1) for one in ended for name in graph.group_inputs.get(one.task_id, ())}
    for task_id, map_index in expected | skipped:
        wave.expect(task_id, map_index)
    for task in graph.dag.tasks:
        for map_index, counts in wave.arrived.get(task.task_id, {}).items():
            if not wave.decide(task, map_index, counts):
                return None
    if wave.left <= 0:
        return None
    return Settlement(wave.moves, waiting=wave.waiting, unfinished=wave.left)
