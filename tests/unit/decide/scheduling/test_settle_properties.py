"""What holds of `settle` for any DAG, however its tasks stand."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import RunCounts, Settlement, TaskCounts
from headway.decide.scheduling.settle import settle
from headway.domain.dag.spec import DagSpec, TaskSpec, TimetableSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import MOVES, TERMINAL, Role, RunState, TaskState

NONE = TaskState.NONE


@st.composite
def dags(draw: st.DrawFn) -> DagSpec:
    tasks: list[TaskSpec] = []
    for number in range(draw(st.integers(0, 8))):
        names = [task.task_id for task in tasks]
        upstream = draw(st.lists(st.sampled_from(names), unique=True, max_size=4)) if names else []
        task = TaskSpec(
            task_id=f"t{number}",
            operator="empty",
            upstream=tuple(upstream),
            trigger_rule=draw(st.sampled_from(TriggerRule)),
            depends_on_past=draw(st.booleans()),
            is_setup=draw(st.booleans()),
        )
        tasks.append(replace(task, is_teardown=not task.is_setup and draw(st.booleans())))
    return DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tuple(tasks),
    )


STATES = st.sampled_from(TaskState)


def task_counts(number: int, state: TaskState) -> TaskCounts:
    """How a task of one instance stands, whose place in the DAG is its id."""
    return TaskCounts({state: 1}, [number] if state is NONE else [], state is NONE)


@st.composite
def runs(draw: st.DrawFn) -> RunCounts:
    dag = draw(dags())
    names = [task.task_id for task in dag.tasks]
    tasks = {
        name: task_counts(number, draw(st.just(NONE) | STATES)) for number, name in enumerate(names)
    }
    skips = draw(st.lists(st.sampled_from(names), max_size=2)) if names else []
    some = st.sets(STATES, max_size=2)
    past = draw(st.none() | st.fixed_dictionaries({}, optional=dict.fromkeys(names, some)))
    end_as = draw(st.sampled_from([None, None, RunState.SUCCESS, RunState.FAILED]))
    return RunCounts(1, DagGraph(dag), tasks, skips, past, end_as=end_as)


def after(run: RunCounts, settlement: Settlement) -> RunCounts:
    """The run once the moves are written."""
    moved = {number: state for state, numbers in settlement.moves.items() for number in numbers}
    tasks = dict(run.tasks)
    for number, name in enumerate(run.tasks):
        if number in moved:
            tasks[name] = task_counts(number, moved[number])
    return replace(run, tasks=tasks)


@given(runs())
def test_settling_again_changes_nothing(run: RunCounts) -> None:
    first = settle(run)

    assert settle(after(run, first)) == replace(first, moves={})


@given(runs())
def test_only_tasks_at_none_move_each_once_and_as_a_scheduler_may(run: RunCounts) -> None:
    undecided = {number for task in run.tasks.values() for number in task.undecided}
    settlement = settle(run)
    moved = [(number, state) for state, ids in settlement.moves.items() for number in ids]

    assert len({number for number, _ in moved}) == len(moved)
    assert {number for number, _ in moved} | settlement.waiting.keys() == undecided
    for _, state in moved:
        assert Role.SCHEDULER in MOVES[NONE][state]


@given(runs())
def test_a_run_ends_exactly_when_all_its_tasks_have(run: RunCounts) -> None:
    settlement = settle(run)

    states = [state for task in after(run, settlement).tasks.values() for state in task.counts]
    left = sum(state not in TERMINAL for state in states)
    assert (settlement.run_state is not None) is (left == 0)
    assert settlement.unfinished in (left, None)


@given(runs())
def test_counts_are_kept_where_they_suffice_and_only_there(run: RunCounts) -> None:
    suffice = run.graph.counts_suffice and run.end_as is None

    assert (settle(run).unfinished is not None) is suffice


@given(dags(), st.data())
def test_a_run_never_stands_still_however_its_tasks_end(dag: DagSpec, data: st.DataObject) -> None:
    """Let every task that starts end somehow, again and again: the run gets to its end."""
    ends = st.sampled_from([TaskState.SUCCESS, TaskState.FAILED, TaskState.SKIPPED])
    names = [task.task_id for task in dag.tasks]
    run = RunCounts(
        1, DagGraph(dag), {name: task_counts(number, NONE) for number, name in enumerate(names)}
    )

    for _ in range(len(names) + 1):
        settlement = settle(run)
        if settlement.run_state is not None:
            break
        started = settlement.moves.get(TaskState.SCHEDULED, [])
        assert started
        run = after(run, settlement)
        ended = {names[number]: task_counts(number, data.draw(ends)) for number in started}
        run = replace(run, tasks={**run.tasks, **ended})

    assert settlement.run_state in (RunState.SUCCESS, RunState.FAILED)
