"""What the scheduler must know of a DAG before a run of it starts."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from headway.decide.scheduling.graph import DagGraph, starts
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.dag.trigger_rules import TriggerRule

OVER = (MapInput(argument="n", length=2),)


def task(task_id: str, *upstream: str, rule: str = "all_success") -> TaskSpec:
    return TaskSpec(
        task_id=task_id, operator="empty", upstream=upstream, trigger_rule=TriggerRule(rule)
    )


def graph(*tasks: TaskSpec) -> DagGraph:
    spec = DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tasks,
    )
    return DagGraph(spec)


FIRST, SECOND = task("first"), task("second", "first")


def test_a_task_starts_with_its_run_when_nothing_is_to_be_decided_about_it() -> None:
    assert starts(FIRST)
    assert starts(replace(FIRST, is_setup=True))
    assert starts(replace(FIRST, trigger_rule=TriggerRule.ALL_FAILED)), "nothing is above it"


@pytest.mark.parametrize(
    "other",
    [
        SECOND,
        task("second", "first", rule="always"),
        replace(FIRST, depends_on_past=True),
        replace(FIRST, mapped_over=OVER),
    ],
)
def test_any_other_task_does_not(other: TaskSpec) -> None:
    assert not starts(other)


def test_a_run_whose_first_tasks_are_known_is_not_looked_at_when_it_starts() -> None:
    assert not graph(FIRST, SECOND).settle_at_start()
    assert not graph(FIRST, replace(SECOND, mapped_over=OVER)).settle_at_start()


@pytest.mark.parametrize("rule", sorted(set(TriggerRule) - {TriggerRule.ALWAYS}))
def test_no_rule_but_always_decides_before_something_has_ended(rule: str) -> None:
    assert not graph(FIRST, task("second", "first", rule=rule)).settle_at_start()


@pytest.mark.parametrize(
    "tasks",
    [
        (),
        (FIRST, task("second", "first", rule="always")),
        (FIRST, replace(task("mapped"), mapped_over=OVER)),
        (FIRST, replace(SECOND, depends_on_past=True)),
        (replace(FIRST, depends_on_past=True),),
        (replace(FIRST, is_setup=True), SECOND),
        (FIRST, replace(SECOND, is_teardown=True)),
    ],
    ids=["empty", "always", "mapped", "past below", "past", "setup", "teardown"],
)
def test_any_other_run_is_looked_at_as_a_whole_when_it_starts(tasks: tuple[TaskSpec, ...]) -> None:
    assert graph(*tasks).settle_at_start()


def test_what_lies_below_is_known_in_the_order_of_the_dag() -> None:
    dag = graph(FIRST, SECOND, task("third", "first", "second"))

    assert dag.downstream == {"first": ["second", "third"], "second": ["third"], "third": []}
    assert list(dag.tasks) == ["first", "second", "third"]


def test_a_task_with_dates_is_decided_about_when_its_run_starts() -> None:
    dated = replace(FIRST, start_date=datetime(2026, 1, 5, tzinfo=UTC))

    assert graph(dated, SECOND).settle_at_start()
    assert graph(FIRST, replace(SECOND, end_date=dated.start_date)).settle_at_start()


@pytest.mark.parametrize(
    ("day", "left_out"), [(4, {"first"}), (5, set()), (6, set()), (7, {"first", "second"})]
)
def test_the_dates_of_a_task_belong_to_it(day: int, left_out: set[str]) -> None:
    start, end = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 6, tzinfo=UTC)
    its = graph(replace(FIRST, start_date=start, end_date=end), replace(SECOND, end_date=end))

    assert its.left_out(datetime(2026, 1, day, tzinfo=UTC)) == left_out
