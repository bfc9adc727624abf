"""Why a task instance of a running run is not scheduled, or never will be."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from headway.decide.explain.culprits import culprits
from headway.decide.explain.explanation import Explanation, Holder, Reason, single
from headway.decide.explain.one_index import index_of, index_of_all, named
from headway.decide.explain.run import no_scheduler, reserved
from headway.decide.explain.snapshot import ProcessRow, RunRow, TaskRow, alive
from headway.decide.explain.wording import command, counted, listed
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import RunCounts, Settlement, TaskCounts
from headway.decide.scheduling.settle import settle
from headway.domain.dag.mapping import described
from headway.domain.dag.names import instance_name
from headway.domain.dag.spec import TaskSpec
from headway.domain.dag.trigger_rules import Tally, TriggerRule, Verdict, judge
from headway.domain.states import TERMINAL, RunState, TaskState

_FIRST: Final = {
    TriggerRule.ONE_SUCCESS: "The success of one of them.",
    TriggerRule.ONE_FAILED: "The failure of one of them.",
    TriggerRule.ONE_DONE: "The end of one of them, as success or failed.",
}
_WORST_FIRST: Final = (
    TaskState.FAILED,
    TaskState.UPSTREAM_FAILED,
    TaskState.SKIPPED,
    TaskState.REMOVED,
    TaskState.SUCCESS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedSnapshot:
    """A task instance without a decision, or one that ended without having run.

    `above` are the first instances of its upstream tasks, those that have not ended before
    the others.  `before` is the run before, with the instances of the task there that are
    not well.  `choosers` names, for each task that others chose not to run, those others.
    `outside` are the tasks whose own dates leave the run out.
    `asked` is the map index that was asked for, when there is a placeholder only.
    """

    run: RunRow
    task: TaskRow
    run_counts: RunCounts
    most: int
    above: Sequence[Holder]
    before: RunRow | None
    before_tasks: Sequence[Holder]
    choosers: Mapping[str, Sequence[str]]
    asked: int | None
    job: ProcessRow | None
    schedulers: Sequence[ProcessRow]
    outside: Collection[str] = ()

    @property
    def spec(self) -> TaskSpec:
        """The task as the run's version of the DAG has it."""
        return self.run_counts.graph.tasks[self.task.task_id]


def explain_undecided(it: UndecidedSnapshot) -> Explanation:
    """Say why a task instance of a running run is undecided: `settle` tells whether it is."""
    settlement = settle(it.run_counts, it.most)
    tally = settlement.waiting.get(it.task.id)
    if tally is None:
        return _decided(it, settlement)
    if judge(it.spec.trigger_rule, tally) is Verdict.WAIT:
        found = _waits_for_upstream(it, tally)
    elif items := _unended_items(it):
        found = _waits_for_items(items)
    else:
        found = _waits_for_past(it)
    if found.reason is Reason.UPSTREAM and it.asked is not None:
        mapped = it.task.task_id
        return replace(
            found,
            reason=Reason.NOT_EXPANDED,
            sentence=f"There is no {mapped}[{it.asked}] yet: {mapped} is expanded into its "
            f"instances when its upstream tasks have ended. {found.sentence}",
        )
    return found


def explain_not_run(it: UndecidedSnapshot) -> Explanation | None:
    """Say why an instance ended without having run: what `settle` decides if it is asked again.

    None when it decides otherwise: somebody has moved the instance, or what it waited for.
    """
    mapped = bool(it.spec.mapped_over) and it.task.map_index < 0
    by_index = {it.task.map_index: TaskState.NONE} if it.spec.mapped_group else {}
    alone = TaskCounts({TaskState.NONE: 1}, (it.task.id,), mapped, by_index)
    tasks = {**it.run_counts.tasks, it.task.task_id: alone}
    run_counts = replace(it.run_counts, tasks=tasks)
    settlement = settle(run_counts, it.most)
    if it.task.id not in settlement.moves.get(it.task.state, ()):
        return None
    return _ends(replace(it, run_counts=run_counts), it.task.state, settlement, ended=True)


def waited_for(it: UndecidedSnapshot) -> list[str]:
    """Return the tasks that it waits for in the end: those above that wait for no upstream."""
    waiting = set(settle(it.run_counts, it.most).waiting)
    found: list[str] = []
    above, seen = [it.task.task_id], {it.task.task_id}
    while above:
        for task_id in it.run_counts.graph.tasks[above.pop()].upstream:
            task_counts = it.run_counts.tasks.get(task_id)
            if task_counts is None or task_id in seen or not _unfinished(task_counts):
                continue
            seen.add(task_id)
            (above if waiting.intersection(task_counts.undecided) else found).append(task_id)
    return found


def _waits_for_upstream(it: UndecidedSnapshot, tally: Tally) -> Explanation:
    spec, rule = it.spec, it.spec.trigger_rule
    unfinished = [
        _named(task_id, it.run_counts.tasks[task_id])
        for task_id in spec.upstream
        if task_id in it.run_counts.tasks and _unfinished(it.run_counts.tasks[task_id])
    ]
    by_rule = "" if rule is TriggerRule.ALL_SUCCESS else f", by its trigger rule {rule}"
    facts = []
    if tally.total > 1:
        facts.append(f"{tally.done:,} of {tally.total:,} upstream instances ended so far.")
    if spec.mapped_over and it.task.map_index < 0:
        inputs = listed([described(source) for source in spec.mapped_over])
        facts.append(f"It is mapped: it is expanded over {inputs} when its upstream has ended.")
    one = "The end of it." if len(unfinished) == 1 else "The end of all of these."
    return Explanation(
        reason=Reason.UPSTREAM,
        sentence=f"It waits for {listed(unfinished)}{by_rule}.",
        change=_FIRST.get(rule, one),
        held_by=tuple(row for row in it.above if TaskState(row.state) not in TERMINAL),
        facts=tuple(facts),
    )


def _unended_items(it: UndecidedSnapshot) -> list[str]:
    """Return the tasks that a placeholder is expanded over and that have not ended."""
    if it.task.map_index >= 0:
        return []
    sources = dict.fromkeys(task_id for task_id, _ in it.spec.map_sources())
    tasks = it.run_counts.tasks
    return [
        _named(name, tasks[name]) for name in sources if name in tasks and _unfinished(tasks[name])
    ]


def _waits_for_items(items: Sequence[str]) -> Explanation:
    return Explanation(
        reason=Reason.UPSTREAM,
        sentence=f"It waits for {listed(items)}, which it is expanded over.",
        change="The end of it." if len(items) == 1 else "The end of all of these.",
    )


def _waits_for_past(it: UndecidedSnapshot) -> Explanation:
    assert it.before is not None
    dag, run, task = it.run.dag_id, it.before.run_id, it.task.task_id
    if it.before.state is RunState.QUEUED:
        return Explanation(
            reason=Reason.DEPENDS_ON_PAST,
            sentence=f"It depends on its past: the run before, {run}, has not started.",
            change="The start of that run.",
            held_by=(Holder(dag_id=dag, run_id=run, state=it.before.state),),
        )
    states = sorted({TaskState(row.state) for row in it.before_tasks})
    change = "Its end there, as success or skipped."
    if TERMINAL.issuperset(states):
        change = (
            f"{command('tasks', 'clear', dag, run, task, '--yes')} to have it run there again, or "
            f"{command('tasks', 'mark', dag, run, task, '--as', 'success', '--yes')}."
        )
    return Explanation(
        reason=Reason.DEPENDS_ON_PAST,
        sentence=f"It depends on its past: in the run before, {run}, {task} is "
        f"{listed([_word(state) for state in states])}.",
        change=change,
        held_by=tuple(it.before_tasks),
    )


def _decided(it: UndecidedSnapshot, settlement: Settlement) -> Explanation:
    """Say what the next pass decides, or why there is none."""
    instances = {**settlement.expansions, **settlement.grown}.get(it.task.id)
    for state, ids in settlement.moves.items():
        if it.task.id in ids and state is not TaskState.SCHEDULED:
            found = _ends(it, state, settlement, ended=False)
            missing = tuple(f"Besides: {none.sentence}" for none in _nobody(it))
            return replace(found, facts=found.facts + missing)
    whose = "the job that has reserved the run" if it.run.lock_id else "a scheduler"
    becomes = "scheduled"
    if instances is not None:
        becomes = f"expanded into {counted(instances, 'instance')}"
    following = Explanation(
        reason=Reason.DECIDED_NEXT,
        sentence=f"Nothing holds it: it is {becomes} in the next pass of {whose}.",
        change="Nothing is to be done.",
    )
    return single(_nobody(it), lambda: following)


def _nobody(it: UndecidedSnapshot) -> Iterator[Explanation]:
    if it.run.lock_id is not None:
        if it.job is None or not alive([it.job]):
            yield reserved(it.run, it.job)
        return
    schedulers = [process for process in it.schedulers if process.kind == "scheduler"]
    if not alive(schedulers):
        yield no_scheduler(schedulers)


def _ends(
    it: UndecidedSnapshot, state: TaskState, settlement: Settlement, *, ended: bool
) -> Explanation:
    """Say why the instance ends in that state without running."""
    task = it.task
    when = "" if ended else f" It becomes {state} in a scheduler's next pass."
    problem = settlement.problems.get(task.task_id)
    if it.run_counts.end_as is not None:
        return Explanation(
            reason=Reason.RUN_ENDS,
            sentence=f"The run is to end as {it.run_counts.end_as}, and starts nothing more.{when}",
            change=f"{_clear(it, [task.task_id])} takes that back.",
        )
    if choosers := it.choosers.get(task.task_id):
        return Explanation(
            reason=Reason.NOT_CHOSEN,
            sentence=f"{listed([named(it.run_counts, name) for name in choosers])} above it chose "
            f"not to run it.{when}",
            change=f"Another choice: {_clear(it, choosers)} has it made anew.",
            held_by=tuple(it.above),
        )
    if task.task_id in it.outside:
        return _left_out(it, when)
    if problem is not None or _is_empty(it, state):
        said = problem or "What it is expanded over is empty."
        return Explanation(
            reason=Reason.NOT_EXPANDED,
            sentence=f"It {'was' if ended else 'is'} not expanded. {said}{when}",
            change=f"Another outcome of what it is expanded over{_again(it)}.",
            held_by=tuple(it.above),
        )
    stand, above = _upstream(it), culprits(it.run_counts, it.choosers, it.spec)
    verb = "did not hold" if ended else "cannot hold any more"
    return Explanation(
        reason=Reason.TRIGGER_RULE,
        sentence=f"Its trigger rule {it.spec.trigger_rule} {verb}: it stands below "
        f"{listed(stand)}.{when}",
        change=f"Clear what is above it, with all below: {_clear(it, above)}.",
        held_by=tuple(it.above),
    )


def _left_out(it: UndecidedSnapshot, when: str) -> Explanation:
    dates = {"start_date": it.spec.start_date, "end_date": it.spec.end_date}
    told = ", ".join(f"{name} {date:%F %T}" for name, date in dates.items() if date)
    return Explanation(
        reason=Reason.OUTSIDE_DATES,
        sentence=f"The logical date of the run lies outside the task's own dates ({told}).{when}",
        change="Other dates of the task, in its DAG file.",
    )


def _is_empty(it: UndecidedSnapshot, state: TaskState) -> bool:
    """Whether the instance is a placeholder that is skipped although its upstream is well."""
    if state is not TaskState.SKIPPED or not it.spec.mapped_over or it.task.map_index >= 0:
        return False
    unmapped = replace(it.spec, mapped_over=())
    dag = it.run_counts.graph.dag
    tasks = tuple(unmapped if task is it.spec else task for task in dag.tasks)
    run_counts = replace(it.run_counts, graph=DagGraph(replace(dag, tasks=tasks)))
    return it.task.id not in settle(run_counts, it.most).moves.get(state, ())


def _upstream(it: UndecidedSnapshot) -> list[str]:
    order = {state: place for place, state in enumerate(_WORST_FIRST)}
    found = [
        (min(order.get(state, len(order)) for state in task_counts.counts), task_id, task_counts)
        for task_id in it.spec.upstream
        if (task_counts := it.run_counts.tasks.get(task_id)) is not None and task_counts.counts
    ]
    return [_named(task_id, task_counts) for _, task_id, task_counts in sorted(found, key=_place)]


def _place(found: tuple[int, str, TaskCounts]) -> tuple[int, str]:
    return found[:2]


def _clear(it: UndecidedSnapshot, tasks: Sequence[str]) -> str:
    map_index = index_of_all(it.run_counts.tasks, tasks)
    one = () if map_index < 0 else ("--map-index", map_index)
    return command("tasks", "clear", it.run.dag_id, it.run.run_id, *tasks, *one, "--yes")


def _again(it: UndecidedSnapshot) -> str:
    """Return the command that runs again what the task is expanded over, if that is a task."""
    inputs = list(dict.fromkeys(task_id for task_id, _ in it.spec.map_sources()))
    return f": {_clear(it, inputs)}" if inputs else ""


def _unfinished(task_counts: TaskCounts) -> int:
    return sum(number for state, number in task_counts.counts.items() if state not in TERMINAL)


def _named(task_id: str, task_counts: TaskCounts) -> str:
    total = sum(task_counts.counts.values())
    if total == 1:
        (state,) = task_counts.counts
        return f"{instance_name(task_id, index_of(task_counts))} ({_word(state)})"
    states = ", ".join(
        f"{number:,} {_word(state)}" for state, number in sorted(task_counts.counts.items())
    )
    return f"{task_id} ({counted(total, 'instance')}: {states})"


def _word(state: TaskState) -> str:
    return "undecided" if state is TaskState.NONE else str(state)
