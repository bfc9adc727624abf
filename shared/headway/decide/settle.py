"""What follows from how the tasks of a run stand: which may start, which never will, is it over."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headway.domain.spec import DagSpec, TaskSpec
from headway.domain.states import TERMINAL, RunState, TaskState
from headway.domain.trigger_rules import Tally, Verdict, judge

_FAILED = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED})
_PAST_IS_WELL = frozenset({TaskState.SUCCESS, TaskState.SKIPPED})
_BECOMES = {
    Verdict.RUN: TaskState.SCHEDULED,
    Verdict.SKIP: TaskState.SKIPPED,
    Verdict.UPSTREAM_FAILED: TaskState.UPSTREAM_FAILED,
}


@dataclass(frozen=True, slots=True)
class TaskStanding:
    """How one task instance stands; `skips` are the tasks that it chose not to run."""

    id: int
    task_id: str
    state: TaskState
    skips: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RunStanding:
    """How a run stands.

    `past` tells how the tasks of the DAG's previous run stand; None when this is its
    first.  A task that the previous run does not have holds nothing up.
    """

    run_id: int
    dag: DagSpec
    tasks: Sequence[TaskStanding]
    past: Mapping[str, TaskState] | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """What to write: task instances by the state they move to, and the run's end, if any."""

    moves: Mapping[TaskState, list[int]] = field(default_factory=dict)
    run_state: RunState | None = None


def settle(run: RunStanding) -> Settlement:
    """Decide for every task that has not been decided, in topological order.

    A task that is skipped or fails for its upstream is taken into account at once
    for those below it, so that one call settles all that can be settled.
    """
    standings = {task.task_id: task for task in run.tasks}
    states = {task.task_id: task.state for task in run.tasks}
    skipped = {task_id for task in run.tasks for task_id in task.skips}
    setups = {task.task_id for task in run.dag.tasks if task.is_setup}
    moves: dict[TaskState, list[int]] = {}

    for task in run.dag.tasks:
        if states.get(task.task_id) is not TaskState.NONE:
            continue
        verdict = Verdict.SKIP if task.task_id in skipped else _judge(task, run, states, setups)
        if verdict is not Verdict.WAIT:
            state = _BECOMES[verdict]
            states[task.task_id] = state
            moves.setdefault(state, []).append(standings[task.task_id].id)

    return Settlement(moves, _run_state(run.dag, states))


def _judge(
    task: TaskSpec, run: RunStanding, states: Mapping[str, TaskState], setups: Container[str]
) -> Verdict:
    verdict = judge(task.trigger_rule, _tally(task, states, setups))
    if verdict is Verdict.RUN and task.depends_on_past and not _past_is_well(task, run.past):
        return Verdict.WAIT
    return verdict


def _past_is_well(task: TaskSpec, past: Mapping[str, TaskState] | None) -> bool:
    return past is None or past.get(task.task_id, TaskState.SUCCESS) in _PAST_IS_WELL


def _tally(task: TaskSpec, states: Mapping[str, TaskState], setups: Container[str]) -> Tally:
    ended = [states.get(upstream, TaskState.REMOVED) for upstream in task.upstream]
    prepared = [states.get(upstream) for upstream in task.upstream if upstream in setups]
    return Tally(
        total=len(ended),
        success=ended.count(TaskState.SUCCESS),
        failed=sum(state in _FAILED for state in ended),
        upstream_failed=ended.count(TaskState.UPSTREAM_FAILED),
        skipped=ended.count(TaskState.SKIPPED),
        removed=ended.count(TaskState.REMOVED),
        setups=len(prepared),
        setups_succeeded=prepared.count(TaskState.SUCCESS),
        setups_skipped=prepared.count(TaskState.SKIPPED),
    )


def _run_state(dag: DagSpec, states: Mapping[str, TaskState]) -> RunState | None:
    if any(state not in TERMINAL for state in states.values()):
        return None
    failed = any(states.get(task_id) in _FAILED for task_id in leaves(dag.tasks))
    return RunState.FAILED if failed else RunState.SUCCESS


def leaves(tasks: Iterable[TaskSpec]) -> set[str]:
    """Return the tasks whose end decides the run's: those with nothing but teardowns below."""
    working = [task for task in tasks if not task.is_teardown]
    above = {upstream for task in working for upstream in task.upstream}
    return {task.task_id for task in working} - above
