from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.decide.explain.explanation import Holder, Reason
from headway.decide.explain.snapshot import ProcessRow, RunRow, TaskRow
from headway.decide.explain.undecided import (
    UndecidedSnapshot,
    explain_not_run,
    explain_undecided,
    waited_for,
)
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import RunCounts, TaskCounts
from headway.decide.scheduling.settle import settle
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import RunState, TaskState
from headway.testing.data.seed import START

RUN = RunRow(
    id=1,
    dag_id="d",
    run_id="r",
    state=RunState.RUNNING,
    run_after=START,
    version_id=1,
    version=1,
    backfill_id=None,
    lock_id=None,
    end_as=None,
)
SCHEDULER = ProcessRow(
    id=1, kind="scheduler", hostname="h", pid=1, slots=9, busy=0, silent=0.0, alive=True
)


def task(task_id: str, upstream: str = "", rule: str = "all_success") -> TaskSpec:
    return TaskSpec(
        task_id=task_id,
        operator="empty",
        upstream=tuple(upstream.split()),
        trigger_rule=TriggerRule(rule),
    )


def row(number: int, task_id: str, state: str) -> TaskRow:
    return TaskRow(
        id=number,
        task_id=task_id,
        map_index=-1,
        state=TaskState(state),
        attempt=0,
        failures=0,
        losses=0,
        pool="p",
        pool_slots=1,
        queue="q",
        priority=1,
        rank=0.0,
        retry_at=None,
        started_at=None,
        ended_at=None,
    )


def snapshot(
    tasks: tuple[TaskSpec, ...], states: Mapping[str, str], about: str
) -> UndecidedSnapshot:
    """How it stands around a task of a DAG of unmapped tasks; of those left out nothing is."""
    dag = DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tasks,
    )
    numbers = {each.task_id: number for number, each in enumerate(tasks)}
    task_counts = {
        task_id: TaskCounts({TaskState(state): 1}, (numbers[task_id],) if state == "none" else ())
        for task_id, state in states.items()
    }
    return UndecidedSnapshot(
        choosers={},
        run=RUN,
        task=row(numbers[about], about, states[about]),
        run_counts=RunCounts(1, DagGraph(dag), task_counts),
        most=100,
        above=(),
        before=None,
        before_tasks=(),
        asked=None,
        job=None,
        schedulers=[SCHEDULER],
    )


DIAMOND = (task("a"), task("b", "a"), task("c", "a"), task("d", "b c"), task("e", "d"))


@pytest.mark.parametrize(
    ("states", "roots"),
    [
        ({"a": "running", "b": "none", "c": "none", "d": "none"}, ["a"]),
        ({"a": "success", "b": "running", "c": "scheduled", "d": "none"}, ["b", "c"]),
        ({"a": "success", "b": "success", "c": "running", "d": "none"}, ["c"]),
        ({"a": "success", "b": "success", "c": "success", "d": "up_for_retry"}, ["d"]),
        # About to be decided: it waits for nobody above it.
        ({"a": "success", "b": "none", "c": "running", "d": "none"}, ["b", "c"]),
    ],
)
def test_what_a_task_waits_for_in_the_end(states: dict[str, str], roots: list[str]) -> None:
    assert sorted(waited_for(snapshot(DIAMOND, {**states, "e": "none"}, "e"))) == roots


@pytest.mark.regression
@pytest.mark.parametrize(
    ("rule", "states", "advised"),
    [
        ("all_success", {"a": "success", "b": "failed", "c": "upstream_failed"}, "b c"),
        ("all_success", {"a": "failed", "b": "success", "c": "success"}, "a"),
        ("one_failed", {"a": "success", "b": "success", "c": "success"}, "a b c"),
    ],
)
def test_tasks_that_succeeded_are_not_to_be_cleared_if_others_did_not(
    rule: str, states: dict[str, str], advised: str
) -> None:
    tasks = (task("a"), task("b"), task("c"), task("d", "a b c", rule))

    found = explain_undecided(snapshot(tasks, {**states, "d": "none"}, "d"))

    assert found.reason is Reason.TRIGGER_RULE
    assert found.change == (
        f"Clear what is above it, with all below: `headway tasks clear d r {advised} --yes`."
    )


@pytest.mark.parametrize(
    ("state", "change"),
    [
        ("running", "Its end there, as success or skipped."),
        (
            "failed",
            (
                "`headway tasks clear d r0 t --yes` to have it run there again, or "
                "`headway tasks mark d r0 t --as success --yes`."
            ),
        ),
    ],
)
def test_what_helps_a_task_that_depends_on_its_past(state: str, change: str) -> None:
    """A task of the run before that has ended ends no more by itself."""
    alone = snapshot((replace(task("t"), depends_on_past=True),), {"t": "none"}, "t")
    past = replace(alone.run_counts, past={"t": {TaskState(state)}})
    found = explain_undecided(
        replace(
            alone,
            run_counts=past,
            before=replace(RUN, id=0, run_id="r0"),
            before_tasks=[Holder(dag_id="d", run_id="r0", task_id="t", state=state)],
        )
    )

    assert (found.reason, found.change) == (Reason.DEPENDS_ON_PAST, change)


def test_tasks_above_are_named_with_how_they_stand() -> None:
    found = explain_undecided(
        snapshot(
            (task("a"), task("b"), task("c", "a b")),
            {"a": "success", "b": "queued", "c": "none"},
            "c",
        )
    )

    assert found.reason is Reason.UPSTREAM
    assert found.sentence == "It waits for b (queued)."
    assert found.facts == ("1 of 2 upstream instances ended so far.",)


STATES = st.sampled_from(sorted(set(TaskState)))


@given(STATES, STATES, st.sampled_from(sorted(TriggerRule)))
def test_the_reason_agrees_with_what_is_settled(
    one: TaskState, other: TaskState, rule: TriggerRule
) -> None:
    """It waits when it is left undecided, runs next when it is scheduled, else it never runs."""
    tasks = (task("a"), task("b"), task("c", "a b", rule))
    it = snapshot(tasks, {"a": one, "b": other, "c": "none"}, "c")
    settlement = settle(it.run_counts)

    reason = explain_undecided(it).reason

    if it.task.id in settlement.waiting:
        assert reason is Reason.UPSTREAM
    elif it.task.id in settlement.moves.get(TaskState.SCHEDULED, ()):
        assert reason is Reason.DECIDED_NEXT
    else:
        assert reason is Reason.TRIGGER_RULE


@given(STATES, st.sampled_from(sorted(TriggerRule)), STATES)
def test_what_has_not_run_is_explained_by_what_would_be_settled_again(
    above: TaskState, rule: TriggerRule, ended: TaskState
) -> None:
    """Only where it would end the same way: else it was somebody who ended it so."""
    tasks = (task("a"), task("c", "a", rule))
    again = settle(snapshot(tasks, {"a": above, "c": "none"}, "c").run_counts)

    found = explain_not_run(snapshot(tasks, {"a": above, "c": ended}, "c"))

    never = {TaskState.SKIPPED, TaskState.UPSTREAM_FAILED}
    assert (found is not None) == (1 in again.moves.get(ended, ()))
    if found is not None and ended in never:
        assert found.reason is Reason.TRIGGER_RULE


def mapped(group: str | None, rule: str) -> tuple[TaskSpec, ...]:
    over = (MapInput(argument="x", task_id="a"),)
    b = replace(task("b", "a"), mapped_over=over, mapped_group=group)
    c = replace(task("c", "a e" if group is None else "b e", rule), mapped_over=over)
    return (task("a"), task("e"), b, replace(c, mapped_group=group))


@pytest.mark.parametrize("group", [None, "g"])
def test_a_task_whose_rule_holds_may_wait_for_what_it_is_expanded_over(group: str | None) -> None:
    states = {"a": "running", "b": "none", "c": "none", "e": "success"}
    it = snapshot(mapped(group, "one_success"), states, "c")
    tasks = {
        **it.run_counts.tasks,
        "b": TaskCounts({TaskState.NONE: 1}, (2,), placeholder=True),
        "c": TaskCounts({TaskState.NONE: 1}, (3,), placeholder=True),
    }

    told = explain_undecided(replace(it, run_counts=replace(it.run_counts, tasks=tasks)))

    assert told.reason is Reason.UPSTREAM
    assert told.sentence == "It waits for a (running), which it is expanded over."
    assert told.change == "The end of it."


def test_a_task_in_a_mapped_group_is_about_to_become_its_instances() -> None:
    states = {"a": "success", "b": "success", "c": "none", "e": "success"}
    it = snapshot(mapped("g", "all_success"), states, "c")
    tasks = {
        **it.run_counts.tasks,
        "b": TaskCounts(
            {TaskState.SUCCESS: 2}, by_index=dict.fromkeys(range(2), TaskState.SUCCESS)
        ),
        "c": TaskCounts({TaskState.NONE: 1}, (3,), placeholder=True),
    }
    run_counts = replace(it.run_counts, tasks=tasks, lengths={("a", "return_value"): 2})

    told = explain_undecided(replace(it, run_counts=run_counts))

    assert told.reason is Reason.DECIDED_NEXT
    assert "it is expanded into 2 instances in the next pass" in told.sentence
