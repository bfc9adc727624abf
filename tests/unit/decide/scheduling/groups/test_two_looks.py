"""Both ways to look at a run with a mapped group, whole and by counts, come to the same result."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import RunState, TaskState
from headway.testing.data.paper_run import PaperRun

SUCCESS, FAILED = TaskState.SUCCESS, TaskState.FAILED
OVER = (MapInput(argument="x", task_id="list"),)
NOTHING = (MapInput(argument="x", length=0),)

by_both = pytest.mark.parametrize("counting", [True, False])


def task(task_id: str, *upstream: str, **fields: Any) -> TaskSpec:
    return TaskSpec(task_id=task_id, operator="empty", upstream=upstream, **fields)


def inside(task_id: str, *upstream: str, **fields: Any) -> TaskSpec:
    return replace(task(task_id, *upstream, **fields), mapped_over=OVER, mapped_group="g")


def started(counting: bool, *tasks: TaskSpec) -> PaperRun:
    spec = DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tasks,
    )
    run = PaperRun(DagGraph(spec), counting=counting, lengths={("list", "return_value"): 2})
    run.start()
    run.look()
    return run


def end(
    run: PaperRun, task_id: str, state: TaskState, index: int = -1, skips: Sequence[str] = ()
) -> None:
    [number] = (it.id for it in run.instances() if (it.task_id, it.map_index) == (task_id, index))
    run.end(number, state, skips)
    run.look()


def states(run: PaperRun, task_id: str) -> list[TaskState]:
    return [it.state for it in run.instances() if it.task_id == task_id]


@by_both
@pytest.mark.parametrize("group", [None, "g"])
def test_a_task_over_no_item_fails_with_its_upstream(counting: bool, group: str | None) -> None:
    over_nothing = replace(task("a", "x"), mapped_over=NOTHING, mapped_group=group)
    run = started(counting, task("x"), over_nothing)

    end(run, "x", FAILED)

    assert states(run, "a") == [TaskState.UPSTREAM_FAILED]
    assert run.state is RunState.FAILED


@by_both
@pytest.mark.parametrize(
    ("rule", "ended"), [(TriggerRule.ONE_SUCCESS, SUCCESS), (TriggerRule.ALL_SUCCESS, FAILED)]
)
def test_a_choice_reaches_one_of_the_group_below_a_task_outside(
    counting: bool, rule: TriggerRule, ended: TaskState
) -> None:
    run = started(
        counting,
        task("list"),
        inside("chooses", "list"),
        inside("x", "list"),
        task("outside", "chooses"),
        inside("c", "x", "outside", trigger_rule=rule),
    )
    end(run, "list", SUCCESS)

    end(run, "chooses", SUCCESS, 1, ["outside", "c"])
    end(run, "x", ended, 1)

    assert states(run, "c") == [TaskState.NONE, TaskState.SKIPPED]


@by_both
def test_a_task_begins_whose_rule_holds_when_the_list_is_there(counting: bool) -> None:
    run = started(
        counting,
        task("list"),
        task("slow"),
        inside("a", "list", "slow"),
        inside("b", "a", trigger_rule=TriggerRule.ALWAYS),
    )

    end(run, "list", SUCCESS)

    assert states(run, "b") == [TaskState.SCHEDULED, TaskState.SCHEDULED]


@by_both
def test_a_choice_skips_an_instance_of_a_task_that_had_no_instances_yet(counting: bool) -> None:
    run = started(
        counting,
        task("list"),
        inside("chooses", "list"),
        task("outside", "chooses"),
        inside("c", "list", "outside"),
        inside("below", "c"),
    )
    end(run, "list", SUCCESS)

    end(run, "chooses", SUCCESS, 1, ["c"])
    assert states(run, "c") == states(run, "below") == [TaskState.NONE, TaskState.SKIPPED]

    end(run, "chooses", SUCCESS, 0)
    end(run, "outside", SUCCESS)
    assert states(run, "c") == [TaskState.SCHEDULED, TaskState.SKIPPED]


@by_both
def test_what_is_below_an_instance_that_was_not_chosen_is_skipped_with_it(counting: bool) -> None:
    run = started(
        counting,
        task("list"),
        inside("chooses", "list"),
        inside("x", "list"),
        task("outside", "chooses"),
        inside("c", "x", "outside"),
        inside("below", "c"),
    )
    end(run, "list", SUCCESS)

    end(run, "chooses", SUCCESS, 1, ["c"])

    assert states(run, "c") == states(run, "below") == [TaskState.NONE, TaskState.SKIPPED]
