"""A run on paper: its task instances in memory, settled as the scheduler settles stored ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headway.decide.scheduling import grouped
from headway.decide.scheduling.advance import Undecided, advance, arrivals
from headway.decide.scheduling.graph import DagGraph, starts
from headway.decide.scheduling.grouped_advance import Ended, advance_by_index, reached
from headway.decide.scheduling.run_counts import Lengths, RunCounts, Settlement, TaskCounts
from headway.decide.scheduling.settle import settle
from headway.domain.dag.trigger_rules import Tally
from headway.domain.states import TERMINAL, RunState, TaskState

_MOST = 1000


@dataclass(slots=True)
class PaperInstance:
    """A task instance; its id is its task's place in the DAG and its map index."""

    id: int
    task_id: str
    map_index: int = -1
    state: TaskState = TaskState.NONE
    skips: Sequence[str] = ()
    tally: Tally = field(default_factory=lambda: Tally(0))


@dataclass(slots=True)
class PaperRun:
    """A run of a DAG; `counting` tells whether it is advanced by counts where that is enough.

    `lengths` are those of the XComs that its mapped tasks are expanded over, and `most` the
    instances that one may become.  `advances` counts how often counts were enough.
    """

    graph: DagGraph
    counting: bool
    lengths: Lengths = field(default_factory=dict)
    most: int = _MOST
    state: RunState = RunState.RUNNING
    unfinished: int | None = None
    advances: int = 0
    _instances: dict[int, PaperInstance] = field(default_factory=dict)
    _facts: list[Ended] = field(default_factory=list)
    _whole: bool = False

    def start(self) -> None:
        """Make the task instances, the first of them scheduled where they are known."""
        self._whole = self.graph.settle_at_start()
        for place, task in enumerate(self.graph.dag.tasks):
            first = starts(task) and not self._whole
            state = TaskState.SCHEDULED if first else TaskState.NONE
            instance = PaperInstance(_MOST * place, task.task_id, state=state)
            instance.tally = Tally(len(task.upstream))
            self._instances[instance.id] = instance
        if not self._whole:
            self.unfinished = len(self._instances)

    def instances(self, *states: TaskState) -> list[PaperInstance]:
        """Return the instances in one of these states, or all, by their id."""
        found = sorted(self._instances.values(), key=lambda it: it.id)
        return [instance for instance in found if not states or instance.state in states]

    def end(self, instance: int, state: TaskState, skips: Sequence[str] = ()) -> None:
        """Let a scheduled instance end in that state."""
        it = self._instances[instance]
        it.state, it.skips = state, skips
        self._whole |= bool(skips) and not self.graph.mapped_groups
        self._facts.append(Ended(it.task_id, it.map_index, state, skips))

    def clear(self, instance: int) -> None:
        """Make an instance undecided again, as a user does."""
        it = self._instances[instance]
        it.state, it.skips = TaskState.NONE, ()
        self._whole = True

    def look(self) -> Settlement:
        """Settle what has changed since the last look, and enter what follows.

        A run with tasks in mapped groups that have become their instances is looked at again.
        """
        settlement = None
        if self.counting and self.unfinished is not None and not self._whole:
            settlement = self._advance(self.unfinished)
            self.advances += settlement is not None
        settlement = settlement or settle(self._run_counts(), self.most)
        self._facts, self._whole = [], False
        self._enter(settlement)
        return self.look() if settlement.grown else settlement

    def _advance(self, unfinished: int) -> Settlement | None:
        left = unfinished - len(self._facts)
        waiting = {
            (instance.task_id, instance.map_index): Undecided(
                instance.id, instance.task_id, instance.tally, instance.map_index
            )
            for instance in self.instances(TaskState.NONE)
        }
        if self.graph.mapped_groups:
            wanted = reached(self.graph, self._facts)
            below = [it for key, it in waiting.items() if key in wanted]
            return advance_by_index(self.graph, self._facts, below, left)
        ended: dict[str, dict[TaskState, int]] = {}
        for one in self._facts:
            counts = ended.setdefault(one.task_id, {})
            counts[one.state] = counts.get(one.state, 0) + 1
        arrived = arrivals(self.graph, ended)
        below = [waiting[name, -1] for name in arrived if (name, -1) in waiting]
        return advance(self.graph, arrived, below, left)

    def _run_counts(self) -> RunCounts:
        tasks = {
            task: _task_counts(its, by_index=self.graph.group_of(task) is not None)
            for task, its in self._by_task()
        }
        choices = {(it.task_id, it.map_index): it.skips for it in self._instances.values()}
        skips, index_skips = grouped.skips(self.graph, choices)
        return RunCounts(1, self.graph, tasks, skips, lengths=self.lengths, index_skips=index_skips)

    def _by_task(self) -> Iterator[tuple[str, list[PaperInstance]]]:
        for task in self.graph.dag.tasks:
            yield (
                task.task_id,
                [instance for instance in self.instances() if instance.task_id == task.task_id],
            )

    def _enter(self, settlement: Settlement) -> None:
        for state, ids in settlement.moves.items():
            for number in ids:
                assert self._instances[number].state is TaskState.NONE
                self._instances[number].state = state
        for number, length in settlement.expansions.items():
            self._expand(self._instances[number], length, TaskState.SCHEDULED)
        for number, length in settlement.grown.items():
            self._expand(self._instances[number], length, TaskState.NONE)
        for number, tally in settlement.waiting.items():
            self._instances[number].tally = tally
        self.unfinished = settlement.unfinished
        self.state = settlement.run_state or RunState.RUNNING

    def _expand(self, placeholder: PaperInstance, length: int, state: TaskState) -> None:
        assert (placeholder.state, placeholder.map_index) == (TaskState.NONE, -1)
        for index in range(length):
            instance = PaperInstance(placeholder.id + index, placeholder.task_id, index)
            instance.state = state
            self._instances[instance.id] = instance


def states_of(run: PaperRun) -> Mapping[int, TaskState]:
    """Return the state of each instance of a run, by id."""
    return {instance.id: instance.state for instance in run.instances()}


def left_in(run: PaperRun) -> int:
    """Return how many instances of a run have not ended."""
    return sum(instance.state not in TERMINAL for instance in run.instances())


def _task_counts(instances: Sequence[PaperInstance], *, by_index: bool) -> TaskCounts:
    counts: dict[TaskState, int] = {}
    for instance in instances:
        counts[instance.state] = counts.get(instance.state, 0) + 1
    undecided = [instance for instance in instances if instance.state is TaskState.NONE]
    placeholder = bool(undecided) and undecided[0].map_index < 0
    states = {instance.map_index: instance.state for instance in instances} if by_index else {}
    return TaskCounts(counts, [instance.id for instance in undecided], placeholder, states)
