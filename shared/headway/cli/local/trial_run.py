"""A whole run in this process: the scheduler's own decisions, on task instances in memory."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headway.cli.local.trial_task import STATES, Trial, say
from headway.decide.scheduling import grouped
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import RunCounts, Settlement, TaskCounts
from headway.decide.scheduling.settle import settle
from headway.domain.dag.names import instance_name
from headway.domain.dag.spec import DagSpec, TaskSpec
from headway.domain.states import RunState, TaskState
from headway.domain.xcoms import length_of
from headway.sdk.harness.execution import Result


@dataclass(slots=True)
class TestRun:
    """A run in memory: its task instances one after the other, each tried once by `attempt`.

    `states` are those of the instances, by task and map_index; a task that is not mapped,
    or not yet expanded, has one instance, -1.  `choices` are what instances chose not to run.
    """

    trial: Trial
    spec: DagSpec
    attempt: Callable[[str, int], Result]
    states: dict[str, dict[int, TaskState]] = field(default_factory=dict)
    choices: dict[tuple[str, int], Sequence[str]] = field(default_factory=dict)

    def run(self) -> RunState:
        """Run until the run has ended, and return how."""
        self.states = {task.task_id: {-1: TaskState.NONE} for task in self.spec.tasks}
        graph = DagGraph(self.spec)
        while True:
            keys = [(name, index) for name, its in self.states.items() for index in its]
            settlement = settle(self._run_counts(graph, keys))
            self._follow(settlement, keys)
            if settlement.run_state is not None:
                self.trial.call_for_run(self.spec, settlement.run_state)
                return settlement.run_state

    def _follow(self, settlement: Settlement, keys: Sequence[tuple[str, int]]) -> None:
        """Carry out what was decided; `keys` are the instances by their numbers."""
        for name, problem in settlement.problems.items():
            say(name, problem)
        for number, instances in settlement.grown.items():
            self.states[keys[number][0]] = dict.fromkeys(range(instances), TaskState.NONE)
        for number, instances in settlement.expansions.items():
            task_id = keys[number][0]
            self.states[task_id] = {}
            for map_index in range(instances):
                self._move(task_id, map_index, TaskState.SCHEDULED)
        for state, numbers in settlement.moves.items():
            for number in numbers:
                self._move(*keys[number], state)

    def _run_counts(self, graph: DagGraph, keys: Sequence[tuple[str, int]]) -> RunCounts:
        skips, index_skips = grouped.skips(graph, self.choices)
        undecided: dict[str, list[int]] = {}
        for number, (task_id, map_index) in enumerate(keys):
            if self.states[task_id][map_index] is TaskState.NONE:
                undecided.setdefault(task_id, []).append(number)
        tasks = {
            task.task_id: self._task_counts(task, undecided.get(task.task_id, ()))
            for task in self.spec.tasks
        }
        return RunCounts(
            run_id=0,
            graph=graph,
            tasks=tasks,
            skips=skips | graph.left_out(self.trial.facts.data_interval.start),
            lengths=self._lengths(),
            index_skips=index_skips,
        )

    def _task_counts(self, task: TaskSpec, undecided: Sequence[int]) -> TaskCounts:
        states = self.states[task.task_id]
        placeholder = bool(undecided) and -1 in states
        by_index = states if task.mapped_group is not None else {}
        return TaskCounts(Counter(states.values()), undecided, placeholder, by_index)

    def _lengths(self) -> dict[tuple[str, str], int | None]:
        sources = {source for task in self.spec.tasks for source in task.map_sources()}
        return {source: self._length(*source) for source in sources}

    def _length(self, task_id: str, key: str) -> int | None:
        states = self.states[task_id]
        if -1 not in states:
            return len(self.trial.mapped.get((task_id, key), {}))
        length = length_of(self.trial.xcoms.get((task_id, key)))
        if length is not None:
            return length
        return 0 if states[-1] is TaskState.SKIPPED else None

    def _move(self, task_id: str, map_index: int, state: TaskState) -> None:
        if state is TaskState.SCHEDULED:
            result = self.attempt(task_id, map_index)
            self.choices[task_id, map_index] = result.skip_tasks
            state = STATES[result.outcome]
        else:
            say(instance_name(task_id, map_index), str(state))
        self.states[task_id][map_index] = state
