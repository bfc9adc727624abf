"""A specification from an untrusted place is refused unless it makes sense."""

from dataclasses import replace
from math import inf, nan

import pytest

from headway.domain.dag.spec import Combined, DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.dag.task_groups import EdgeLabel, GroupSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.dag.validation import check_valid
from headway.domain.errors import DagError


def task(task_id: str, *upstream: str) -> TaskSpec:
    return TaskSpec(task_id=task_id, operator="empty", upstream=upstream)


def mapped(*inputs: MapInput, task_id: str = "b") -> TaskSpec:
    return replace(task(task_id, "a"), mapped_over=inputs)


ZIP = Combined.ZIP
A = MapInput(argument="x", task_id="a")


def combined(how: Combined, *parts: MapInput) -> MapInput:
    return MapInput(argument="x", combined=how, parts=parts)


def deep(levels: int) -> MapInput:
    return combined(ZIP, deep(levels - 1)) if levels else A


def test_combined_outputs_are_well() -> None:
    check_valid(dag(task("a"), mapped(deep(8))))
    check_valid(dag(task("a"), mapped(combined(Combined.MAP, A))))


def over(argument: str = "x", length: int | None = None, task_id: str | None = None) -> MapInput:
    return MapInput(argument=argument, length=length, task_id=task_id)


def dag(*tasks: TaskSpec) -> DagSpec:
    return DagSpec(
        dag_id="etl",
        relative_path="etl.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tasks,
    )


def grouped(*groups: GroupSpec) -> DagSpec:
    return replace(dag(task("a"), task("b", "a")), groups=groups)


def label(upstream: str, downstream: str) -> EdgeLabel:
    return EdgeLabel(upstream=upstream, downstream=downstream, label="x")


def group(group_id: str, *tasks: str, parent: str | None = None) -> GroupSpec:
    return GroupSpec(group_id=group_id, parent=parent, tasks=tasks)


DEEP = [group(f"g{nth}", parent=f"g{nth - 1}" if nth > 1 else None) for nth in range(1, 65)]


def test_what_an_author_may_write_is_valid() -> None:
    check_valid(grouped(*DEEP))
    check_valid(grouped(group("g", "a"), group("h", "b", parent="g"), group("i")))
    check_valid(replace(grouped(), labels=(label("a", "b"),)))
    check_valid(dag())
    check_valid(dag(task("a"), task("b", "a"), task("c", "a", "b")))
    check_valid(dag(task("a"), mapped(over(task_id="a"), over("y", 0), over("z", 100_000))))
    check_valid(replace(dag(), max_active_tasks_per_dagrun=1, dagrun_timeout=0.5))
    check_valid(replace(dag(), dynamic=True, reparse_on_run=True, min_file_process_interval=1.0))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (dag(task("a"), task("a")), "is there twice"),
        (dag(task("b", "a"), task("a")), "do not come before it"),
        (dag(task("a", "a")), "do not come before it"),
        (dag(task("a", "nowhere")), "do not come before it"),
        (dag(task("a"), task("b", "a", "a")), "depends on a task twice"),
        (dag(task("a/b")), "may hold only letters"),
        (grouped(group("a/b")), "may hold only letters"),
        (grouped(group("g"), group("g")), "has the id 'g' of another, or of a task"),
        (grouped(group("a")), "has the id 'a' of another, or of a task"),
        (grouped(group("g", parent="h"), group("h")), "'h', which does not come before it"),
        (grouped(*DEEP, group("g65", parent="g64")), "is in 64 others or more"),
        (grouped(group("g", "c")), "has a task that the DAG has not"),
        (grouped(group("g", "a", "a")), "or that is in two groups"),
        (grouped(group("g", "a"), group("h", "a")), "or that is in two groups"),
        (replace(grouped(), labels=(label("b", "a"),)), "a label on an edge that is not there"),
        (replace(grouped(), labels=(label("a", "c"),)), "a label on an edge that is not there"),
        (replace(dag(), dag_id=".."), "may hold only letters"),
        (replace(dag(), max_active_runs=0), "could never run"),
        (replace(dag(), max_active_tasks=0), "could never run"),
        (replace(dag(), max_active_runs=2**31), "above 2,147,483,647"),
        (replace(dag(), max_active_tasks_per_dagrun=0), "could never run"),
        (replace(dag(), max_active_tasks_per_dagrun=2**31), "above 2,147,483,647"),
        (replace(dag(), dagrun_timeout=0.0), "dagrun_timeout of DAG etl is 0.0"),
        (replace(dag(), dagrun_timeout=nan), "dagrun_timeout of DAG etl is nan"),
        (replace(dag(), min_file_process_interval=0.5), "process_interval of DAG etl is 0.5"),
        (replace(dag(), min_file_process_interval=nan), "process_interval of DAG etl is nan"),
        (replace(dag(), min_file_process_interval=inf), "process_interval of DAG etl is inf"),
        (replace(dag(), tags=("a", "\0")), "NUL character"),
        (dag(replace(task("a"), priority_weight=-(2**31))), "a number above"),
        (dag(replace(task("a"), priority_weight=-1)), "a priority_weight of -1"),
        (dag(replace(task("a"), max_active_tis_per_dag=0)), "a limit of 0 active"),
        (dag(replace(task("a"), max_active_tis_per_dagrun=2**31)), "a limit of 2147483648"),
        (dag(task("a"), mapped(over(task_id="c")), task("c")), "'c', for which it does not wait"),
        (dag(task("a"), mapped(over(task_id="nowhere"))), "'nowhere', for which it does not wait"),
        (dag(task("a"), mapped(over(task_id="b"))), "'b', for which it does not wait"),
        (dag(task("a"), mapped(over(task_id="a", length=3))), "'a', for which it does not wait"),
        (dag(task("a"), mapped(over())), "over None literal items"),
        (dag(task("a"), mapped(over(length=-1))), "over -1 literal items"),
        (dag(task("a"), mapped(over(length=100_001))), "over 100001 literal items"),
        (dag(task("a"), mapped(over(length=1), over(task_id="a"))), "over an argument twice"),
        (dag(task("a"), mapped(over("\0", 1))), "a NUL character in its name"),
        (dag(task("a"), mapped(combined(ZIP, over(task_id="c")))), "'c', for which it does not"),
        (dag(task("a"), mapped(combined(ZIP))), "over 0 parts, combined by zip"),
        (dag(task("a"), mapped(combined(Combined.MAP, A, A))), "over 2 parts, combined by map"),
        (dag(task("a"), mapped(replace(A, parts=(A,)))), "over parts that are not combined alone"),
        (
            dag(task("a"), mapped(replace(combined(ZIP, A), task_id="a"))),
            "over parts that are not combined alone",
        ),
        (dag(task("a"), mapped(deep(9))), "combined at more than 8 levels"),
        (
            dag(
                task("a"),
                replace(mapped(over(task_id="a")), trigger_rule=TriggerRule.ALWAYS),
            ),
            "for which trigger_rule 'always' does not wait",
        ),
        (dag(replace(task("a"), queue="\0")), "NUL character in a name"),
        (dag(replace(task("a"), retries=-1)), "negative number of retries"),
        (dag(replace(task("a"), pool_slots=0)), "no pool slot"),
        (dag(replace(task("a"), retry_delay=nan)), "duration of nan"),
        (dag(replace(task("a"), max_retry_delay=-1.0)), "duration of -1"),
        (dag(replace(task("a"), execution_timeout=inf)), "duration of inf"),
    ],
)
def test_what_makes_no_sense_is_refused(spec: DagSpec, message: str) -> None:
    with pytest.raises(DagError, match=message):
        check_valid(spec)
