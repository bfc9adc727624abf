"""What follows from how the tasks of a run stand: which may start, which never will, is it over.

Two ways to look at a run come to the same result.  `settle` looks at it as a whole.
`advance` looks only at what lies below the tasks that have just ended, by counts that are
kept on undecided tasks; it is for the common case, and leaves anything else to `settle`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.mapping import MAX_MAP_LENGTH, map_length
from headway.domain.dag.spec import TaskSpec
from headway.domain.dag.trigger_rules import Tally, Verdict, judge
from headway.domain.errors import DagError
from headway.domain.states import TERMINAL, RunState, TaskState

Counts = Mapping[TaskState, int]
Lengths = Mapping[tuple[str, str], int | None]

_FAILED = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED})
_PAST_IS_WELL = frozenset({TaskState.SUCCESS, TaskState.SKIPPED, TaskState.REMOVED})
_NOTHING = frozenset({TaskState.SKIPPED, TaskState.REMOVED})
_BECOMES = {
    Verdict.RUN: TaskState.SCHEDULED,
    Verdict.SKIP: TaskState.SKIPPED,
    Verdict.UPSTREAM_FAILED: TaskState.UPSTREAM_FAILED,
}


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """How the instances of one task stand: how many in which state, and which are undecided.

    `placeholder` tells that the one undecided instance has no map index: that of a mapped
    task stands for instances that are still to be made.
    """

    counts: Counts
    undecided: Sequence[int] = ()
    placeholder: bool = False


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How a run stands.

    `skips` are the tasks that others chose not to run, and those whose own dates leave the run
    out.  `past` tells in which states the tasks of the DAG's previous run are; None when this is
    its first.  A task that the previous run does not have holds nothing up.  `lengths` are those
    of the XComs (task, key) that mapped tasks are expanded over.  `end_as` is how the run must
    end, when a user or its timeout has decided that.
    """

    run_id: int
    graph: DagGraph
    tasks: Mapping[str, TaskCounts]
    skips: Collection[str] = ()
    past: Mapping[str, Collection[TaskState]] | None = None
    lengths: Lengths = field(default_factory=dict)
    end_as: RunState | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """What to write.

    `moves` are task instances by the state they move to; `expansions` are placeholders
    with the number of instances that each becomes; `waiting` are undecided instances with
    how their upstream stands.  `unfinished` counts the instances that have not ended; None
    when the run is to be looked at as a whole next time too.  `problems` explain
    tasks that could not be expanded.
    """

    moves: Mapping[TaskState, list[int]] = field(default_factory=dict)
    expansions: Mapping[int, int] = field(default_factory=dict)
    waiting: Mapping[int, Tally] = field(default_factory=dict)
    unfinished: int | None = None
    run_state: RunState | None = None
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _RunTally:
    """A whole look while it is taken."""

    run: RunCounts
    most: int
    counts: dict[str, dict[TaskState, int]]
    moves: dict[TaskState, list[int]] = field(default_factory=dict)
    expansions: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, Tally] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def decide(self, task: TaskSpec, task_counts: TaskCounts) -> None:
        """Decide for the undecided instances of a task, or enter that they wait."""
        tally = _tally(task, self.counts, self.run.graph.setups)
        state = self._state(task, tally)
        instances = len(task_counts.undecided)
        expands = task_counts.placeholder and bool(task.mapped_over)
        if state is TaskState.SCHEDULED and expands:
            state, instances = self._expanded(task)
        if state is TaskState.NONE:
            self.waiting.update(dict.fromkeys(task_counts.undecided, tally))
            return
        if expands and state is TaskState.SCHEDULED:
            self.expansions[task_counts.undecided[0]] = instances
        else:
            self.moves.setdefault(state, []).extend(task_counts.undecided)
        counts = self.counts[task.task_id]
        counts.pop(TaskState.NONE)
        counts[state] = counts.get(state, 0) + instances

    def remove(self, task_id: str, task_counts: TaskCounts) -> None:
        """Remove what is undecided of a task that the run's version does not have."""
        instances = len(task_counts.undecided)
        self.moves.setdefault(TaskState.REMOVED, []).extend(task_counts.undecided)
        counts = self.counts[task_id]
        counts.pop(TaskState.NONE)
        counts[TaskState.REMOVED] = counts.get(TaskState.REMOVED, 0) + instances

    def _state(self, task: TaskSpec, tally: Tally) -> TaskState:
        if self.run.end_as is not None or task.task_id in self.run.skips:
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
    look = _RunTally(run, most, counts)
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
        look.waiting,
        unfinished if _counts_suffice(run) else None,
        _run_state(run, look.counts) if unfinished == 0 else None,
        look.problems,
    )


def _counts_suffice(run: RunCounts) -> bool:
    """Whether `advance` may do the next look; it knows nothing of single mapped instances."""
    return (
        run.graph.counts_suffice
        and run.end_as is None
        and all(
            task_counts.placeholder or not run.graph.tasks[task_id].mapped_over
            for task_id, task_counts in run.tasks.items()
            if task_counts.undecided and task_id in run.graph.tasks
        )
    )


def _past_is_well(task: TaskSpec, past: Mapping[str, Collection[TaskState]] | None) -> bool:
    return (
        not task.depends_on_past
        or past is None
        or _PAST_IS_WELL.issuperset(past.get(task.task_id, ()))
    )


def _tally(task: TaskSpec, counts: Mapping[str, Counts], setups: Collection[str]) -> Tally:
    ended: dict[TaskState, int] = {}
    prepared: dict[TaskState, int] = {}
    for upstream in task.upstream:
        for state, number in counts.get(upstream, {TaskState.REMOVED: 1}).items():
            ended[state] = ended.get(state, 0) + number
            if upstream in setups:
                prepared[state] = prepared.get(state, 0) + number
    return Tally(
        total=sum(ended.values()),
        success=ended.get(TaskState.SUCCESS, 0),
        failed=sum(ended.get(state, 0) for state in _FAILED),
        upstream_failed=ended.get(TaskState.UPSTREAM_FAILED, 0),
        skipped=ended.get(TaskState.SKIPPED, 0),
        removed=ended.get(TaskState.REMOVED, 0),
        setups=sum(prepared.values()),
        setups_succeeded=prepared.get(TaskState.SUCCESS, 0),
        setups_skipped=prepared.get(TaskState.SKIPPED, 0),
    )


def _run_state(run: RunCounts, counts: Mapping[str, Counts]) -> RunState:
    if run.end_as is not None:
        return run.end_as
    failed = any(_FAILED & counts.get(task_id, {}).keys() for task_id in run.graph.leaves)
    return RunState.FAILED if failed else RunState.SUCCESS


@dataclass(frozen=True, slots=True)
class Undecided:
    """A task instance without a decision, and how its upstream stood when last looked at."""

    id: int
    task_id: str
    tally: Tally


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
        tally = _added(instance.tally, arrived[instance.task_id])
        verdict = judge(task.trigger_rule, tally)
        if verdict is Verdict.WAIT:
            waiting[instance.id] = tally
        elif verdict is Verdict.RUN and not task.mapped_over:
            ready.append(instance.id)
        else:
            return None
    moves = {TaskState.SCHEDULED: ready} if ready else {}
    return Settlement(moves, waiting=waiting, unfinished=left)


def _added(before: Tally, ended: Counts) -> Tally:
    return Tally(
        total=before.total,
        success=before.success + ended.get(TaskState.SUCCESS, 0),
        failed=before.failed + sum(ended.get(state, 0) for state in _FAILED),
        upstream_failed=before.upstream_failed + ended.get(TaskState.UPSTREAM_FAILED, 0),
        skipped=before.skipped + ended.get(TaskState.SKIPPED, 0),
        removed=before.removed + ended.get(TaskState.REMOVED, 0),
    )
