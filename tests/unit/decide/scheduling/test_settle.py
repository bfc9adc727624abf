from collections.abc import Mapping
from dataclasses import replace

import pytest

from headway.decide.scheduling.advance import Undecided, advance
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import RunCounts, TaskCounts
from headway.decide.scheduling.settle import settle
from headway.domain.dag.spec import DagSpec, TaskSpec, TimetableSpec
from headway.domain.dag.trigger_rules import Tally, TriggerRule
from headway.domain.states import TERMINAL, RunState, TaskState

NONE = TaskState.NONE
ENDED = sorted(TERMINAL)


def task(task_id: str, upstream: str = "", rule: str = "all_success") -> TaskSpec:
    return TaskSpec(
        task_id=task_id,
        operator="empty",
        upstream=tuple(upstream.split()),
        trigger_rule=TriggerRule(rule),
    )


def dag(*tasks: TaskSpec) -> DagSpec:
    return DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tasks,
    )


def task_counts(number: int, state: str) -> TaskCounts:
    """How a task of one instance stands, whose place in the DAG is its id."""
    undecided = (number,) if state == "none" else ()
    return TaskCounts({TaskState(state): 1}, undecided, placeholder=bool(undecided))


def settled(
    *tasks: TaskSpec,
    past: Mapping[str, TaskState] | None = None,
    skips: str = "",
    **states: str,
) -> tuple[dict[str, str], RunState | None]:
    """Settle a run of these tasks; return where its tasks move to, and how the run ends."""
    run = RunCounts(
        run_id=1,
        graph=DagGraph(dag(*tasks)),
        tasks={
            each.task_id: task_counts(number, states.get(each.task_id, "none"))
            for number, each in enumerate(tasks)
        },
        skips=skips.split(),
        past=None if past is None else {task_id: {state} for task_id, state in past.items()},
    )
    settlement = settle(run)
    assert not settlement.expansions
    moved = {
        tasks[number].task_id: str(state)
        for state, numbers in settlement.moves.items()
        for number in numbers
    }
    return moved, settlement.run_state


CHAIN = task("a"), task("b", "a"), task("c", "b")
DIAMOND = task("a"), task("b", "a"), task("c", "a"), task("d", "b c")


def test_a_run_begins_with_the_tasks_that_have_nothing_above_them() -> None:
    assert settled(*DIAMOND, task("alone")) == ({"a": "scheduled", "alone": "scheduled"}, None)


def test_a_task_starts_when_the_one_above_it_is_done() -> None:
    assert settled(*CHAIN, a="success") == ({"b": "scheduled"}, None)


@pytest.mark.parametrize("state", sorted(set(TaskState) - TERMINAL - {NONE}))
def test_it_waits_as_long_as_that_one_is_at_it(state: str) -> None:
    assert settled(*CHAIN, a=state) == ({}, None)


def test_fan_out_starts_together_and_fan_in_waits_for_the_last() -> None:
    assert settled(*DIAMOND, a="success") == ({"b": "scheduled", "c": "scheduled"}, None)
    assert settled(*DIAMOND, a="success", b="success", c="running") == ({}, None)
    assert settled(*DIAMOND, a="success", b="success", c="success") == ({"d": "scheduled"}, None)


@pytest.mark.parametrize(
    ("ended", "cascade"), [("failed", "upstream_failed"), ("skipped", "skipped")]
)
def test_a_failure_or_a_skip_goes_all_the_way_down_in_one_call(ended: str, cascade: str) -> None:
    run_state = RunState.FAILED if ended == "failed" else RunState.SUCCESS

    assert settled(*CHAIN, a=ended) == ({"b": cascade, "c": cascade}, run_state)


def test_a_cascade_ends_where_a_rule_takes_it_up() -> None:
    tasks = *CHAIN, task("cleanup", "c", "all_done"), task("alarm", "c", "one_failed")

    moved, run_state = settled(*tasks, a="failed")

    assert moved == {
        "b": "upstream_failed",
        "c": "upstream_failed",
        "cleanup": "scheduled",
        "alarm": "scheduled",
    }
    assert run_state is None


def test_a_task_that_never_ran_counts_as_failed_but_not_as_one_that_ran() -> None:
    tasks = task("a"), task("b", "a"), task("any", "b", "one_done"), task("bad", "b", "all_failed")

    moved, _ = settled(*tasks, a="failed")

    assert (moved["any"], moved["bad"]) == ("skipped", "scheduled")


def test_a_branch_skips_what_it_did_not_choose_and_what_hangs_on_that() -> None:
    tasks = (
        task("branch"),
        task("left", "branch"),
        task("right", "branch"),
        task("below_right", "right"),
        task("join", "left right", "none_failed_min_one_success"),
    )

    moved, run_state = settled(*tasks, skips="right", branch="success")

    assert moved == {"left": "scheduled", "right": "skipped", "below_right": "skipped"}
    assert run_state is None


def test_a_branch_skips_even_what_its_rule_would_start() -> None:
    tasks = task("branch"), task("right", "branch", "always")

    assert settled(*tasks, skips="right", branch="success")[0] == {"right": "skipped"}


def test_a_branch_does_not_touch_what_is_decided() -> None:
    tasks = task("branch"), task("right", "branch")

    assert settled(*tasks, skips="right", branch="success", right="running")[0] == {}


def test_always_starts_at_once() -> None:
    assert settled(task("a"), task("b", "a", "always"))[0] == {"a": "scheduled", "b": "scheduled"}


LATER = replace(task("a"), depends_on_past=True)


@pytest.mark.parametrize(
    ("past", "starts"),
    [
        (None, True),
        ({}, True),
        ({"other": TaskState.FAILED}, True),
        ({"a": TaskState.SUCCESS}, True),
        ({"a": TaskState.SKIPPED}, True),
        ({"a": TaskState.FAILED}, False),
        ({"a": TaskState.UPSTREAM_FAILED}, False),
        ({"a": TaskState.NONE}, False),
        ({"a": TaskState.RUNNING}, False),
        ({"a": TaskState.UP_FOR_RETRY}, False),
    ],
)
def test_a_task_that_depends_on_its_past(
    past: Mapping[str, TaskState] | None, starts: bool
) -> None:
    assert settled(LATER, past=past)[0] == ({"a": "scheduled"} if starts else {})


def test_a_bad_past_holds_up_only_the_tasks_that_depend_on_it() -> None:
    past = dict.fromkeys(("a", "b"), TaskState.FAILED)

    assert settled(LATER, task("b"), past=past)[0] == {"b": "scheduled"}


def test_what_will_not_run_anyway_does_not_wait_for_its_past() -> None:
    tasks = task("up"), replace(task("a", "up"), depends_on_past=True)

    moved, run_state = settled(*tasks, past={"a": TaskState.FAILED}, up="failed")

    assert (moved, run_state) == ({"a": "upstream_failed"}, RunState.FAILED)


SETUP = replace(task("up"), is_setup=True)
TEARDOWN = replace(task("down", "up work", "all_done_setup_success"), is_teardown=True)
AROUND = SETUP, task("work", "up"), TEARDOWN


def test_a_teardown_runs_after_work_that_failed() -> None:
    assert settled(*AROUND, up="success", work="failed") == ({"down": "scheduled"}, None)


@pytest.mark.parametrize(
    ("setup", "cascade"), [("failed", "upstream_failed"), ("skipped", "skipped")]
)
def test_there_is_nothing_to_tear_down_where_nothing_was_set_up(setup: str, cascade: str) -> None:
    assert settled(*AROUND, up=setup)[0] == {"work": cascade, "down": cascade}


def test_a_setup_that_was_skipped_needs_no_teardown_whatever_else_failed() -> None:
    stubborn = SETUP, task("work", "up", "all_done"), TEARDOWN

    assert settled(*stubborn, up="skipped", work="failed")[0] == {"down": "skipped"}


@pytest.mark.parametrize(
    ("work", "down", "run_state"),
    [
        ("success", "success", RunState.SUCCESS),
        ("success", "failed", RunState.SUCCESS),
        ("failed", "success", RunState.FAILED),
    ],
)
def test_work_decides_how_the_run_ends_and_its_teardown_does_not(
    work: str, down: str, run_state: RunState
) -> None:
    assert settled(*AROUND, up="success", work=work, down=down) == ({}, run_state)


@pytest.mark.parametrize(
    ("work", "down", "run_state"),
    [
        ("success", "success", RunState.SUCCESS),
        ("success", "failed", RunState.FAILED),
        ("failed", "success", RunState.FAILED),
    ],
)
def test_a_teardown_that_counts_decides_how_the_run_ends_as_well(
    work: str, down: str, run_state: RunState
) -> None:
    around = *AROUND[:2], replace(TEARDOWN, on_failure_fail_dagrun=True)

    assert settled(*around, up="success", work=work, down=down) == ({}, run_state)


def test_what_leaves_are() -> None:
    assert DagGraph(dag(*CHAIN)).leaves == {"c"}
    assert DagGraph(dag(*DIAMOND)).leaves == {"d"}
    assert DagGraph(dag(*DIAMOND, task("alone"))).leaves == {"d", "alone"}
    assert DagGraph(dag(*AROUND)).leaves == {"work"}
    assert DagGraph(dag()).leaves == set()


@pytest.mark.parametrize("state", ENDED)
def test_a_run_fails_only_by_its_leaves(state: str) -> None:
    failed = state in ("failed", "upstream_failed")
    tasks = *DIAMOND, task("rescue", "d", "all_done")
    as_leaf = settled(*DIAMOND, a="success", b="success", c="success", d=state)
    further_up = settled(*tasks, a="failed", b="success", c="skipped", d=state, rescue="success")

    assert as_leaf == ({}, RunState.FAILED if failed else RunState.SUCCESS)
    assert further_up == ({}, RunState.SUCCESS)


@pytest.mark.parametrize("state", sorted(set(TaskState) - TERMINAL - {NONE}))
def test_a_run_is_not_over_while_a_task_is_not(state: str) -> None:
    assert settled(task("a"), task("b"), a="failed", b=state) == ({}, None)


def test_a_run_without_tasks_is_a_success() -> None:
    assert settled() == ({}, RunState.SUCCESS)


def test_an_upstream_task_that_the_run_does_not_have_counts_as_removed() -> None:
    graph = DagGraph(dag(task("gone"), task("b", "gone")))

    assert settle(RunCounts(1, graph, {"b": task_counts(5, "none")})).moves == {
        TaskState.SCHEDULED: [5]
    }


@pytest.mark.parametrize("left", ["none", "running", "restarting"])
def test_what_the_version_does_not_have_is_removed_when_it_is_undecided(left: str) -> None:
    """What still runs of it keeps the run from ending, and is removed when it has ended."""
    graph = DagGraph(dag(task("a"), task("b", "old")))
    tasks = {
        "a": task_counts(1, "success"),
        "old": task_counts(2, left),
        "b": task_counts(3, "success"),
    }

    found = settle(RunCounts(1, graph, tasks))

    if left == "none":
        assert (found.moves, found.run_state) == ({TaskState.REMOVED: [2]}, RunState.SUCCESS)
    else:
        assert (found.moves, found.run_state, found.unfinished) == ({}, None, 1)


def test_a_task_that_was_removed_from_the_run_before_holds_nothing_up() -> None:
    graph = DagGraph(dag(replace(task("a"), depends_on_past=True)))
    past = {"a": {TaskState.REMOVED}}

    found = settle(RunCounts(1, graph, {"a": task_counts(1, "none")}, past=past))

    assert found.moves == {TaskState.SCHEDULED: [1]}


def test_moves_are_named_by_the_ids_of_the_task_instances() -> None:
    tasks = {each.task_id: task_counts(30 + n, "none") for n, each in enumerate(CHAIN)}

    assert settle(RunCounts(1, DagGraph(dag(*CHAIN)), tasks)).moves == {TaskState.SCHEDULED: [30]}


def test_instances_that_were_removed_meanwhile_are_counted() -> None:
    """A task instance that waits for a third one keeps the counts of all that have ended."""
    graph = DagGraph(dag(task("a"), task("b"), task("c", "a b", "all_done")))
    waits = Undecided(3, "c", Tally(total=3, success=1, removed=1))

    found = advance(graph, {"c": {}}, [waits], left=2)
    assert found is not None
    assert found.waiting == {3: waits.tally}

    found = advance(
        graph, {"c": {TaskState.REMOVED: 1}}, [replace(waits, tally=Tally(4, 1, removed=1))], left=2
    )
    assert found is not None
    assert found.waiting == {3: Tally(4, 1, removed=2)}
