"""Mapped tasks: a placeholder is decided about once, and then becomes what it stands for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import Lengths, RunCounts, Settlement, TaskCounts
from headway.decide.scheduling.settle import settle
from headway.domain.dag.spec import Combined, DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.dag.trigger_rules import Tally, TriggerRule
from headway.domain.states import RunState, TaskState

NONE, SCHEDULED, SUCCESS = TaskState.NONE, TaskState.SCHEDULED, TaskState.SUCCESS
FAILED, SKIPPED = TaskState.FAILED, TaskState.SKIPPED
MAPPED, SUM = 20, 30
XCOM = ("list", "return_value")


def task(task_id: str, *upstream: str, over: tuple[MapInput, ...] = ()) -> TaskSpec:
    return TaskSpec(task_id=task_id, operator="empty", upstream=upstream, mapped_over=over)


LIST = task("list")
EACH = task("each", "list", over=(MapInput(argument="item", task_id="list"),))
TOTAL = task("sum", "each")


def placeholder(number: int) -> TaskCounts:
    return TaskCounts({NONE: 1}, [number], placeholder=True)


WAITING: Mapping[str, TaskCounts] = {
    "list": TaskCounts({SUCCESS: 1}),
    "each": placeholder(MAPPED),
    "sum": placeholder(SUM),
}


def graph(*tasks: TaskSpec) -> DagGraph:
    spec = DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tasks,
    )
    return DagGraph(spec)


FAN = graph(LIST, EACH, TOTAL)


def settled(
    lengths: Lengths | None = None,
    most: int = 100,
    dag: DagGraph = FAN,
    **task_counts: TaskCounts,
) -> Settlement:
    run = RunCounts(1, dag, {**WAITING, **task_counts}, lengths=lengths or {})
    return settle(run, most)


def test_a_placeholder_becomes_as_many_instances_as_there_are_items() -> None:
    settlement = settled({XCOM: 3})

    assert settlement.expansions == {MAPPED: 3}
    assert settlement.moves == {}
    assert settlement.unfinished == 4, "three instances and the task below them"


def test_what_is_below_waits_for_each_of_the_instances() -> None:
    assert settled({XCOM: 3}).waiting == {SUM: Tally(total=3)}


def test_a_single_item_makes_a_single_instance_of_a_mapped_task() -> None:
    assert settled({XCOM: 1}).expansions == {MAPPED: 1}


def test_a_placeholder_waits_for_its_upstream_like_any_task() -> None:
    settlement = settled(list=TaskCounts({TaskState.RUNNING: 1}))

    assert (settlement.expansions, settlement.moves) == ({}, {})
    assert settlement.waiting[MAPPED] == Tally(total=1)


def test_nothing_to_map_over_is_skipped_and_so_is_what_depends_on_it() -> None:
    settlement = settled({XCOM: 0})

    assert settlement.moves == {SKIPPED: [MAPPED, SUM]}
    assert (settlement.expansions, settlement.run_state) == ({}, RunState.SUCCESS)


def test_more_items_than_are_allowed_fail_the_task_with_a_reason() -> None:
    settlement = settled({XCOM: 101})

    assert settlement.moves == {FAILED: [MAPPED], TaskState.UPSTREAM_FAILED: [SUM]}
    assert "max_map_length allows 100" in settlement.problems["each"]
    assert settlement.run_state is RunState.FAILED


@pytest.mark.parametrize("lengths", [{}, {XCOM: None}])
def test_without_the_list_to_map_over_the_task_fails_for_its_upstream(lengths: Lengths) -> None:
    settlement = settled(lengths)

    assert settlement.moves == {TaskState.UPSTREAM_FAILED: [MAPPED, SUM]}
    assert settlement.problems == {
        "each": "Task 'list' has left no 'return_value' to expand it over."
    }


def test_inputs_are_combined_each_with_each() -> None:
    both = replace(EACH, mapped_over=(*EACH.mapped_over, MapInput(argument="way", length=4)))

    assert settled({XCOM: 3}, dag=graph(LIST, both, TOTAL)).expansions == {MAPPED: 12}


def test_what_is_skipped_or_fails_for_its_upstream_is_never_expanded() -> None:
    for upstream, state in ((FAILED, TaskState.UPSTREAM_FAILED), (SKIPPED, SKIPPED)):
        settlement = settled({XCOM: 3}, list=TaskCounts({upstream: 1}))

        assert settlement.moves == {state: [MAPPED, SUM]}
        assert settlement.expansions == {}


def test_a_run_that_must_end_expands_nothing() -> None:
    run = RunCounts(1, FAN, WAITING, lengths={XCOM: 3}, end_as=RunState.FAILED)

    settlement = settle(run)

    assert settlement.moves == {SKIPPED: [MAPPED, SUM]}
    assert (settlement.expansions, settlement.run_state) == ({}, RunState.FAILED)


@pytest.mark.parametrize(
    ("counts", "waits"),
    [
        ({SUCCESS: 2, SCHEDULED: 1}, True),
        ({SUCCESS: 3}, False),
        ({SUCCESS: 2, FAILED: 1}, False),
    ],
)
def test_the_task_below_is_decided_by_how_all_instances_stand(
    counts: Mapping[TaskState, int], waits: bool
) -> None:
    settlement = settled(each=TaskCounts(counts))

    assert (SUM in settlement.waiting) is waits
    if not waits:
        [state] = settlement.moves
        assert state is (TaskState.UPSTREAM_FAILED if FAILED in counts else SCHEDULED)


def test_a_rule_may_let_the_task_below_run_though_some_instances_failed() -> None:
    total = replace(TOTAL, trigger_rule=TriggerRule.ALL_DONE)
    counts = {SUCCESS: 2, FAILED: 1}

    settlement = settled(each=TaskCounts(counts), dag=graph(LIST, EACH, total))

    assert settlement.moves == {SCHEDULED: [SUM]}


def test_an_instance_that_was_cleared_runs_by_itself() -> None:
    settlement = settled(each=TaskCounts({SUCCESS: 2, NONE: 1}, [MAPPED + 1]))

    assert settlement.moves == {SCHEDULED: [MAPPED + 1]}
    assert settlement.expansions == {}


def test_while_a_single_instance_is_undecided_the_run_is_looked_at_as_a_whole() -> None:
    """Counts are kept on placeholders alone."""
    cleared = TaskCounts({SUCCESS: 2, NONE: 1}, [MAPPED + 1])
    again = TaskCounts({TaskState.RUNNING: 1})

    waiting = settled(list=again, each=cleared)

    assert waiting.waiting.keys() == {MAPPED + 1, SUM}
    assert waiting.unfinished is None
    assert settled(list=again).unfinished == 3


def test_an_expansion_can_be_counted_on() -> None:
    assert settled({XCOM: 3}).unfinished is not None


def test_a_mapped_task_waits_for_all_its_instances_in_the_run_before() -> None:
    each = replace(EACH, depends_on_past=True)
    run = RunCounts(1, graph(LIST, each, TOTAL), WAITING, lengths={XCOM: 3})

    well = settle(replace(run, past={"each": {SUCCESS, SKIPPED}}))
    one_failed = settle(replace(run, past={"each": {SUCCESS, FAILED}}))
    one_runs = settle(replace(run, past={"each": {SUCCESS, TaskState.RUNNING}}))

    assert well.expansions == {MAPPED: 3}
    assert (one_failed.expansions, one_runs.expansions) == ({}, {})
    assert well.unfinished is one_failed.unfinished is None


def test_a_source_that_was_skipped_has_nothing_to_expand_over() -> None:
    rule = graph(LIST, replace(EACH, trigger_rule=TriggerRule.ALL_DONE), TOTAL)

    settlement = settled({}, dag=rule, list=TaskCounts({SKIPPED: 1}))

    assert settlement.moves[SKIPPED] == [MAPPED, SUM]
    assert settlement.problems == {}


def test_a_source_that_has_not_ended_is_waited_for_whatever_the_rule() -> None:
    other = task("other")
    each = replace(EACH, upstream=("list", "other"), trigger_rule=TriggerRule.ONE_SUCCESS)

    settlement = settled(
        {},
        dag=graph(LIST, other, each, TOTAL),
        list=TaskCounts({TaskState.RUNNING: 1}),
        other=TaskCounts({SUCCESS: 1}),
    )

    assert settlement.expansions == {}
    assert MAPPED in settlement.waiting
    assert settlement.problems == {}


def test_where_all_above_were_skipped_or_removed_there_are_no_items() -> None:
    """A task that runs all the same is skipped for want of items; nobody has failed."""
    late = graph(LIST, replace(EACH, trigger_rule=TriggerRule.ALL_DONE), TOTAL)
    gone = TaskCounts({SKIPPED: 1, TaskState.REMOVED: 1})
    settlement = settled(dag=late, list=gone)

    assert (settlement.problems, settlement.moves[SKIPPED][0]) == ({}, MAPPED)


OTHER = ("other", "return_value")
LISTS: dict[str, Any] = {"list": TaskCounts({SUCCESS: 1}), "other": TaskCounts({SUCCESS: 1})}


def over_both(how: Combined) -> DagGraph:
    parts = tuple(MapInput(argument="item", task_id=name) for name in LISTS)
    source = MapInput(argument="item", combined=how, parts=parts)
    return graph(LIST, task("other"), task("each", *LISTS, over=(source,)), TOTAL)


@pytest.mark.parametrize(
    ("how", "instances"), [(Combined.ZIP, 2), (Combined.ZIP_LONGEST, 3), (Combined.CONCAT, 5)]
)
def test_a_task_over_combined_outputs_has_as_many_instances_as_they_have_items(
    how: Combined, instances: int
) -> None:
    found = settled({XCOM: 2, OTHER: 3}, dag=over_both(how), **LISTS)

    assert found.expansions == {MAPPED: instances}


def test_a_task_over_combined_outputs_waits_for_all_of_them() -> None:
    running = LISTS | {"other": TaskCounts({TaskState.RUNNING: 1})}
    dag = over_both(Combined.CONCAT)
    eager = [replace(each, trigger_rule=TriggerRule.ONE_SUCCESS) for each in dag.dag.tasks]

    assert not settled({XCOM: 2}, dag=graph(*eager), **running).expansions


def test_of_combined_outputs_one_that_was_skipped_has_no_items() -> None:
    skipped = LISTS | {"other": TaskCounts({SKIPPED: 1})}
    dag = over_both(Combined.CONCAT)
    any_way = [replace(each, trigger_rule=TriggerRule.ALL_DONE) for each in dag.dag.tasks]

    assert settled({XCOM: 2}, dag=graph(*any_way), **skipped).expansions == {MAPPED: 2}
