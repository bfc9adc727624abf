"""Which tasks are to be cleared for a task below them to run."""

from headway.decide.explain.culprits import culprits
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import RunCounts, TaskCounts
from headway.domain.dag.spec import DagSpec, TaskSpec, TimetableSpec
from headway.domain.states import TaskState


def task(task_id: str, *upstream: str) -> TaskSpec:
    return TaskSpec(task_id=task_id, operator="empty", upstream=upstream)


LOW = task("low", "left", "right")
SPEC = DagSpec(
    dag_id="d",
    relative_path="d.py",
    timetable=TimetableSpec(name="null"),
    timezone="UTC",
    tasks=(task("top"), task("left", "top"), task("right", "top"), LOW),
)


def found(choosers: dict[str, list[str]], **states: str) -> list[str]:
    tasks = {task_id: TaskCounts({TaskState(state): 1}) for task_id, state in states.items()}
    return culprits(RunCounts(1, DagGraph(SPEC), tasks), choosers, LOW)


def test_a_task_that_failed_by_itself() -> None:
    states = {"top": "success", "left": "failed", "right": "success"}
    assert found({}, **states, low="upstream_failed") == ["left"]


def test_tasks_that_only_followed_another_are_not_named() -> None:
    states = {"top": "failed", "left": "upstream_failed", "right": "upstream_failed"}
    assert found({}, **states, low="upstream_failed") == ["top"]


def test_who_chose_another_branch_is_named_for_whom_it_did_not_choose() -> None:
    """To clear the task that was not chosen would skip it again."""
    states = {"top": "success", "left": "skipped", "right": "success"}
    assert found({"left": ["top"]}, **states, low="skipped") == ["top"]


def test_where_nothing_is_amiss_above_all_direct_ones_are_named() -> None:
    states = {"top": "success", "left": "success", "right": "success"}
    assert found({}, **states, low="none") == ["left", "right"]
