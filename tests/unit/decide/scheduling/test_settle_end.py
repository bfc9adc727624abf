"""How runs end that are told how, and what is stored of those that have not ended."""

from dataclasses import replace

import pytest

from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import RunCounts, TaskCounts
from headway.decide.scheduling.settle import settle
from headway.domain.dag.spec import DagSpec, TaskSpec, TimetableSpec
from headway.domain.dag.trigger_rules import Tally, TriggerRule
from headway.domain.states import TERMINAL, RunState, TaskState

NONE, SUCCESS, SKIPPED = TaskState.NONE, TaskState.SUCCESS, TaskState.SKIPPED
LIVE = sorted(set(TaskState) - TERMINAL - {NONE})
FIRST, SECOND, LAST = 0, 1, 2


def task(task_id: str, *upstream: str) -> TaskSpec:
    return TaskSpec(task_id=task_id, operator="empty", upstream=upstream)


CHAIN = task("first"), task("second", "first"), task("last", "second")


def graph(*tasks: TaskSpec) -> DagGraph:
    spec = DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tasks or CHAIN,
    )
    return DagGraph(spec)


def run(*states: TaskState, dag: DagGraph | None = None) -> RunCounts:
    """A run whose tasks are in these states, in the DAG's order."""
    dag = dag or graph()
    tasks = {
        task.task_id: TaskCounts({state: 1}, [number] if state is NONE else [])
        for number, (task, state) in enumerate(zip(dag.dag.tasks, states, strict=True))
    }
    return RunCounts(1, dag, tasks)


@pytest.mark.parametrize("end_as", [RunState.SUCCESS, RunState.FAILED])
def test_a_run_that_must_end_skips_what_has_not_begun_and_ends_so(end_as: RunState) -> None:
    settlement = settle(replace(run(SUCCESS, NONE, NONE), end_as=end_as))

    assert settlement.moves == {SKIPPED: [SECOND, LAST]}
    assert settlement.run_state is end_as


@pytest.mark.parametrize("state", LIVE)
def test_a_run_that_must_end_waits_for_what_has_begun(state: TaskState) -> None:
    settlement = settle(replace(run(SUCCESS, state, NONE), end_as=RunState.SUCCESS))

    assert settlement.moves == {SKIPPED: [LAST]}
    assert settlement.run_state is None
    assert settlement.unfinished is None, "it is looked at as a whole next time too"


@pytest.mark.parametrize("end_as", [RunState.SUCCESS, RunState.FAILED])
def test_how_its_tasks_ended_does_not_matter_to_a_run_that_is_told_how_to_end(
    end_as: RunState,
) -> None:
    for state in (SUCCESS, TaskState.FAILED):
        assert settle(replace(run(SUCCESS, SUCCESS, state), end_as=end_as)).run_state is end_as


def test_unfinished_are_those_that_have_not_ended_when_all_is_decided() -> None:
    assert settle(run(TaskState.RUNNING, NONE, NONE)).unfinished == 3
    assert settle(run(SUCCESS, NONE, NONE)).unfinished == 2
    assert settle(run(TaskState.FAILED, NONE, NONE)).unfinished == 0


def test_what_waits_is_told_with_how_its_upstream_stands() -> None:
    join = replace(task("last", "first", "second"), trigger_rule=TriggerRule.ALL_DONE)
    dag = graph(task("first"), task("second"), join)

    settlement = settle(run(TaskState.FAILED, TaskState.RUNNING, NONE, dag=dag))

    assert settlement.waiting == {LAST: Tally(total=2, failed=1)}


@pytest.mark.parametrize(
    "special",
    [{"depends_on_past": True}, {"is_setup": True}, {"is_teardown": True}],
    ids=lambda special: next(iter(special)),
)
def test_where_counts_do_not_suffice_every_look_is_a_whole_one(special: dict[str, bool]) -> None:
    dag = graph(CHAIN[0], CHAIN[1], replace(CHAIN[2], **special))  # type: ignore[arg-type]

    assert settle(run(TaskState.RUNNING, NONE, NONE, dag=dag)).unfinished is None
