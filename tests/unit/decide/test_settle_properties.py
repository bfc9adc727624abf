"""What holds of `settle` for any DAG, however its tasks stand."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headway.decide.settle import RunStanding, Settlement, TaskStanding, settle
from headway.domain.spec import DagSpec, TaskSpec, TimetableSpec
from headway.domain.states import MOVES, TERMINAL, Role, RunState, TaskState
from headway.domain.trigger_rules import TriggerRule

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


@st.composite
def runs(draw: st.DrawFn) -> RunStanding:
    dag = draw(dags())
    names = [task.task_id for task in dag.tasks]
    some = st.lists(st.sampled_from(names), max_size=2) if names else st.just([])
    tasks = [
        TaskStanding(number, name, draw(st.just(NONE) | STATES), draw(some))
        for number, name in enumerate(names)
    ]
    past = draw(st.none() | st.fixed_dictionaries({}, optional=dict.fromkeys(names, STATES)))
    return RunStanding(1, dag, tasks, past)


def after(run: RunStanding, settlement: Settlement) -> RunStanding:
    """The run once the moves are written."""
    moved = {number: state for state, numbers in settlement.moves.items() for number in numbers}
    tasks = [replace(task, state=moved.get(task.id, task.state)) for task in run.tasks]
    return replace(run, tasks=tasks)


@given(runs())
def test_settling_again_changes_nothing(run: RunStanding) -> None:
    first = settle(run)

    second = settle(after(run, first))

    assert second == Settlement({}, first.run_state)


@given(runs())
def test_only_tasks_at_none_move_each_once_and_as_a_scheduler_may(run: RunStanding) -> None:
    states = {task.id: task.state for task in run.tasks}
    moved = [(number, state) for state, numbers in settle(run).moves.items() for number in numbers]

    assert len({number for number, _ in moved}) == len(moved)
    for number, state in moved:
        assert states[number] is NONE
        assert Role.SCHEDULER in MOVES[NONE][state]


@given(runs())
def test_a_run_ends_exactly_when_all_its_tasks_have(run: RunStanding) -> None:
    settlement = settle(run)

    ended = all(task.state in TERMINAL for task in after(run, settlement).tasks)
    assert (settlement.run_state is not None) is ended


@given(dags(), st.data())
def test_a_run_never_stands_still_however_its_tasks_end(dag: DagSpec, data: st.DataObject) -> None:
    """Let every task that starts end somehow, again and again: the run gets to its end."""
    ends = st.sampled_from([TaskState.SUCCESS, TaskState.FAILED, TaskState.SKIPPED])
    tasks = [TaskStanding(number, task.task_id, NONE) for number, task in enumerate(dag.tasks)]
    run = RunStanding(1, dag, tasks)

    for _ in range(len(tasks) + 1):
        settlement = settle(run)
        if settlement.run_state is not None:
            break
        assert settlement.moves.get(TaskState.SCHEDULED)
        run = after(run, settlement)
        run = replace(
            run,
            tasks=[
                replace(task, state=data.draw(ends)) if task.state == "scheduled" else task
                for task in run.tasks
            ],
        )

    assert settlement.run_state in (RunState.SUCCESS, RunState.FAILED)
