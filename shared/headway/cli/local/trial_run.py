"""A whole run in this process: the scheduler's own decisions, on task instances in memory."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headway.cli.local.trial_task import STATES, Trial, say
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.settle import RunCounts, TaskCounts, settle
from headway.domain.dag.spec import DagSpec
from headway.domain.states import RunState, TaskState
from headway.domain.xcoms import length_of
from headway.sdk.harness.execution import Result


@dataclass(slots=True)
class TestRun:
    """A run in memory: its task instances one after the other, each tried once by `attempt`.

    `states` are those of the instances, by task and map_index; a task that is not mapped,
    or not yet expanded, has one instance, -1.
    """

    trial: Trial
    spec: DagSpec
    attempt: Callable[[str, int], Result]
    states: dict[str, dict[int, TaskState]] = field(default_factory=dict)
    skips: set[str] = field(default_factory=set)

    def run(self) -> RunState:
        """Run until the run has ended, and return how."""
        self.states = {task.task_id: {-1: TaskState.NONE} for task in self.spec.tasks}
        names = list(self.states)
        graph = DagGraph(self.spec)
        self.skips |= graph.left_out(self.trial.facts.data_interval.start)
        while True:
            task_counts = {name: self._task_counts(number) for number, name in enumerate(names)}
            run = RunCounts(0, graph, task_counts, self.skips, lengths=self._lengths())
            settlement = settle(run)
            for name, problem in settlement.problems.items():
                say(name, problem)
            for number, instances in settlement.expansions.items():
                self._run_instances(names[number], range(instances))
            for state, numbers in settlement.moves.items():
                for number in numbers:
                    self._move(names[number], state)
            if settlement.run_state is not None:
                self.trial.call_for_run(self.spec, settlement.run_state)
                return settlement.run_state

    def _task_counts(self, number: int) -> TaskCounts:
        task = self.spec.tasks[number]
        states = self.states[task.task_id]
        undecided = (number,) if TaskState.NONE in states.values() else ()
        return TaskCounts(Counter(states.values()), undecided, bool(task.mapped_over))

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

    def _move(self, task_id: str, state: TaskState) -> None:
        if state is TaskState.SCHEDULED:
            self._run_instances(task_id, (-1,))
        else:
            self.states[task_id] = {-1: state}
            say(task_id, str(state))

    def _run_instances(self, task_id: str, indexes: Sequence[int]) -> None:
        self.states[task_id] = {
            map_index: self._run_instance(task_id, map_index) for map_index in indexes
        }

    def _run_instance(self, task_id: str, map_index: int) -> TaskState:
        result = self.attempt(task_id, map_index)
        self.skips.update(result.skip_tasks)
        return STATES[result.outcome]
