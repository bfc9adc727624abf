"""What follows from how the tasks of a run stand: which may start, which never will, is it over.

Two ways to look at a run come to the same result.  `settle` looks at it as a whole.
`advance` looks only at what lies below the tasks that have just ended, by counts that are
kept on undecided tasks; it is for the common case, and leaves anything else to `settle`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from headway.decide.scheduling import grouped
from headway.decide.scheduling.run_counts import Counts, RunCounts, Settlement, TaskCounts
from headway.decide.scheduling.tallies import FAILED, GONE, tally_of
from headway.domain.dag.mapping import MAX_MAP_LENGTH, input_length, map_length
from headway.domain.dag.spec import TaskSpec
from headway.domain.dag.trigger_rules import Tally, Verdict, judge
from headway.domain.errors import DagError
from headway.domain.states import TERMINAL, RunState, TaskState

_PAST_IS_WELL = frozenset({TaskState.SUCCESS, TaskState.SKIPPED, TaskState.REMOVED})
_NOTHING = frozenset({TaskState.SKIPPED, TaskState.REMOVED})
_BECOMES = {
    Verdict.RUN: TaskState.SCHEDULED,
    Verdict.SKIP: TaskState.SKIPPED,
    Verdict.UPSTREAM_FAILED: TaskState.UPSTREAM_FAILED,
}


@dataclass(slots=True)
class _RunTally:
    """A whole look while it is taken."""

    run: RunCounts
    most: int
    counts: dict[str, dict[TaskState, int]]
    by_index: dict[str, dict[int, TaskState]]
    moves: dict[TaskState, list[int]] = field(default_factory=dict)
    expansions: dict[int, int] = field(default_factory=dict)
    grown: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, Tally] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def decide(self, task: TaskSpec, task_counts: TaskCounts) -> None:
        """Decide for the undecided instances of a task, or enter that they wait."""
        if task.mapped_group is not None and not task_counts.placeholder:
            self._decide_each(task, task_counts)
        elif task_counts.placeholder and task.mapped_over:
            self._decide_placeholder(task, task_counts.undecided[0])
        else:
            tally = self._tally(task)
            self._enter(task, task_counts.undecided, self._state(task, tally), tally)

    def remove(self, task_id: str, task_counts: TaskCounts) -> None:
        """Remove what is undecided of a task that the run's version does not have."""
        self.moves.setdefault(TaskState.REMOVED, []).extend(task_counts.undecided)
        self._count(task_id, TaskState.REMOVED, len(task_counts.undecided))

    def _decide_placeholder(self, task: TaskSpec, placeholder: int) -> None:
        """Decide whether a mapped task becomes its instances.

        A task in a mapped group may do so though it is not to be scheduled: then each instance is
        decided about by itself, at the next look.
        """
        tally = self._tally(task)
        state, instances = self._state(task, tally), 1
        follows = not self._is_left_out(task.task_id) and self._follows(task, state)
        if follows or state is TaskState.SCHEDULED:
            state, instances = self._expanded(task)
        if state is not TaskState.SCHEDULED:
            self._enter(task, [placeholder], state, tally)
            return
        state = TaskState.NONE if follows else state
        (self.grown if follows else self.expansions)[placeholder] = instances
        counts = self.counts[task.task_id]
        counts.pop(TaskState.NONE)
        counts[state] = counts.get(state, 0) + instances
        if task.mapped_group is not None:
            self.by_index[task.task_id] = dict.fromkeys(range(instances), state)

    def _decide_each(self, task: TaskSpec, task_counts: TaskCounts) -> None:
        """Decide for each instance of a task in a mapped group by what it waits for."""
        own = self.by_index[task.task_id]
        tally_at = grouped.tallies(task, self.run.graph, self.counts, self.by_index)
        waiting = sorted(index for index, state in own.items() if state is TaskState.NONE)
        for number, map_index in zip(task_counts.undecided, waiting, strict=True):
            tally = tally_at(map_index)
            own[map_index] = self._state(task, tally, map_index)
            self._enter(task, [number], own[map_index], tally)

    def _enter(
        self, task: TaskSpec, undecided: Collection[int], state: TaskState, tally: Tally
    ) -> None:
        """Enter that undecided instances of a task move to that state, or wait."""
        if state is TaskState.NONE:
            self.waiting.update(dict.fromkeys(undecided, tally))
            return
        self.moves.setdefault(state, []).extend(undecided)
        self._count(task.task_id, state, len(undecided))
        its = self.by_index.get(task.task_id, {})
        if -1 in its:
            its[-1] = state

    def _count(self, task_id: str, state: TaskState, instances: int) -> None:
        counts = self.counts[task_id]
        counts[TaskState.NONE] -= instances
        if not counts[TaskState.NONE]:
            counts.pop(TaskState.NONE)
        counts[state] = counts.get(state, 0) + instances

    def _tally(self, task: TaskSpec) -> Tally:
        upstream = ((name, self.counts.get(name, GONE)) for name in task.upstream)
        return tally_of(upstream, self.run.graph.setups)

    def _is_left_out(self, task_id: str, map_index: int = -1) -> bool:
        """Whether a task, or an instance, is skipped whatever its upstream."""
        run = self.run
        chosen = task_id in run.skips or (task_id, map_index) in run.index_skips
        return run.end_as is not None or chosen

    def _follows(self, task: TaskSpec, state: TaskState) -> bool:
        """Whether a task in a mapped group becomes instances to decide about one by one.

        It does when a task of the group that it waits for has become instances, and when another
        task chose not to run one of its instances.  A task over items of the DAG itself also does
        when all of its instances end without running.
        """
        if task.mapped_group is None:
            return False
        ends = state in TERMINAL and _has_literal_items(task)
        chosen = any(name == task.task_id for name, _ in self.run.index_skips)
        return ends or chosen or grouped.follows(task, self.run.graph, self.by_index)

    def _state(self, task: TaskSpec, tally: Tally, map_index: int = -1) -> TaskState:
        if self._is_left_out(task.task_id, map_index):
            return TaskState.SKIPPED
        verdict = judge(task.trigger_rule, tally)
        if verdict is Verdict.WAIT:
            return TaskState.NONE
        if verdict is Verdict.RUN and not _past_is_well(task, self.run.past):
            return TaskState.NONE
        return _BECOMES[verdict]

    def _expanded(self, task: TaskSpec) -> tuple[TaskState, int]:
        """Return what becomes of a placeholder: so many scheduled instances, or its end.

        What it is expanded over must have ended, whatever the trigger rule: until then
        nobody knows how many items there are.
        """
        lengths = dict(self.run.lengths)
        for source in task.map_sources():
            states = self.counts.get(source[0], {}).keys()
            if not states <= TERMINAL:
                return TaskState.NONE, 1
            if states <= _NOTHING:
                lengths[source] = 0
            if lengths.get(source) is None:
                self.problems[task.task_id] = (
                    f"Task {source[0]!r} has left no {source[1]!r} to expand it over."
                )
                return TaskState.UPSTREAM_FAILED, 1
        try:
            instances = map_length(task.mapped_over, lengths, self.most)
        except DagError as error:
            self.problems[task.task_id] = str(error)
            return TaskState.FAILED, 1
        return (TaskState.SCHEDULED, instances) if instances else (TaskState.SKIPPED, 1)


def settle(run: RunCounts, most: int = MAX_MAP_LENGTH) -> Settlement:
    """Look at a run as a whole: decide for every undecided task, in topological order.

    A task that is skipped or fails for its upstream is taken into account at once
    for those below it, so that one call settles all that can be settled.  No mapped
    task is expanded to more than `most` instances.
    """
    counts = {task_id: dict(task_counts.counts) for task_id, task_counts in run.tasks.items()}
    by_index = {
        task_id: dict(task_counts.by_index)
        for task_id, task_counts in run.tasks.items()
        if task_counts.by_index
    }
    look = _RunTally(run, most, counts, by_index)
    for task_id, task_counts in run.tasks.items():
        if task_counts.undecided and task_id not in run.graph.tasks:
            look.remove(task_id, task_counts)
    for task in run.graph.dag.tasks:
        its = run.tasks.get(task.task_id)
        if its is not None and its.undecided:
            look.decide(task, its)
    unfinished = sum(
        number
        for states in look.counts.values()
        for state, number in states.items()
        if state not in TERMINAL
    )
    return Settlement(
        look.moves,
        look.expansions,
        look.grown,
        look.waiting,
        unfinished if _counts_suffice(run) and not look.grown else None,
        _run_state(run, look.counts) if unfinished == 0 else None,
        look.problems,
    )


def _counts_suffice(run: RunCounts) -> bool:
    """Whether `advance` may do the next look; it knows nothing of single mapped instances."""
    return (
        run.graph.counts_suffice
        and run.end_as is None
        and all(
            task_counts.placeholder
            or not run.graph.tasks[task_id].mapped_over
            or run.graph.group_of(task_id) is not None
            for task_id, task_counts in run.tasks.items()
            if task_counts.undecided and task_id in run.graph.tasks
        )
    )


def _has_literal_items(task: TaskSpec) -> bool:
    """Whether the DAG itself has items, at least one, to expand the task over."""
    return not any(task.map_sources()) and all(input_length(it, {}) for it in task.mapped_over)


def _past_is_well(task: TaskSpec, past: Mapping[str, Collection[TaskState]] | None) -> bool:
    return (
        not task.depends_on_past
        or past is None
        or _PAST_IS_WELL.issuperset(past.get(task.task_id, ()))
    )


def _run_state(run: RunCounts, counts: Mapping[str, Counts]) -> RunState:
    if run.end_as is not None:
        return run.end_as
    failed = any(FAILED & counts.get(task_id, {}).keys() for task_id in run.graph.leaves)
    return RunState.FAILED if failed else RunState.SUCCESS
