"""@task, @task_group and @dag on what is no function with a name: builtins, partials, objects."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk import DAG, task, task_group
from headway.sdk import dag as dag_decorator
from headway.sdk.harness.execution import Result
from headway.sdk.harness.specification import to_spec

Run = Callable[..., Result]
XComs = dict[tuple[str, str], JsonValue]


class Doubler:
    """Double a number."""

    def __init__(self) -> None:
        self.function, self.options = "of its own", {"task_id": "of its own"}

    def __call__(self, n: int) -> int:
        return 2 * n


TOTAL: Any = functools.partial(sum, start=2)
NAMELESS = [TOTAL, Doubler()]


def test_a_builtin_runs_under_its_name_with_its_docstring(dag: DAG, run: Run, xcoms: XComs) -> None:
    total: Any = task(sum)([1, 2])  # type: ignore[list-item]

    assert run(total).outcome is Outcome.SUCCESS
    assert xcoms["sum", "return_value"] == 3
    assert to_spec(dag, "x.py").task("sum").doc_md == sum.__doc__
    with pytest.raises(DagError, match="task 'sum' is called without its argument 'iterable'"):
        task(sum)()


def test_a_builtin_that_does_not_tell_what_it_takes_runs(dag: DAG, run: Run, xcoms: XComs) -> None:
    most: Any = task(max)(3, 1)

    assert run(most).outcome is Outcome.SUCCESS
    assert xcoms["max", "return_value"] == 3
    assert task(max).partial(default=0).expand(key=[None]).operator.task_id == "max__1"


@pytest.mark.parametrize("given", [functools.partial(lambda n, by: n * by, by=2), Doubler()])
def test_what_has_no_name_runs_under_the_one_it_is_given(
    dag: DAG, run: Run, xcoms: XComs, given: Any
) -> None:
    assert run(task(task_id="double")(given)(4)).outcome is Outcome.SUCCESS
    assert xcoms["double", "return_value"] == 8
    doc = to_spec(dag, "x.py").task("double").doc_md
    assert doc == (None if isinstance(given, functools.partial) else "Double a number.")


def test_the_docstring_of_a_partial_is_that_of_its_function(dag: DAG) -> None:
    task(task_id="total")(functools.partial(TOTAL))([1])

    assert to_spec(dag, "x.py").task("total").doc_md == sum.__doc__


@pytest.mark.parametrize("given", NAMELESS)
def test_what_has_no_name_and_is_given_none_is_refused(dag: DAG, given: Any) -> None:
    with pytest.raises(DagError, match=r'has no name; give it one, as in @task\(task_id="name"\)'):
        task(given)([1])
    with pytest.raises(DagError, match=r'give it one, as in @task_group\(group_id="name"\)'):
        task_group(given)([1])
    with pytest.raises(DagError, match=r'give it one, as in @dag\(dag_id="name"\)'):
        dag_decorator(given)([1])  # type: ignore[no-untyped-call]


def test_arguments_are_refused_that_an_object_without_a_name_does_not_take(dag: DAG) -> None:
    double_of: Any = Doubler()
    double = task(task_id="double")(double_of)
    with pytest.raises(DagError, match=r"task 'double': .*Doubler\(\).*'m'"):
        double.expand(m=[1])
    with pytest.raises(DagError, match=r"as in Doubler\(rows=…\)"):
        task(task_id="t", op_args=[1])(Doubler())(1)  # type: ignore[call-overload]
    with pytest.raises(DagError, match=r"task group 'g': partial\(\): Doubler\(\)"):
        task_group(group_id="g")(double_of).partial(m=1)


def test_groups_and_dags_of_what_has_no_name_are_made(dag: DAG) -> None:
    def add(prefix: str) -> None:
        """Add a task."""
        task(task_id=prefix)(sum)([1])  # type: ignore[list-item]

    group = task_group(group_id="g")(functools.partial(add, "t"))()
    made = dag_decorator(dag_id="other")(functools.partial(add, "u"))()

    assert (group.group_id, group.tooltip) == ("g", "Add a task.")
    assert [each.task_id for each in dag.tasks] == ["g.t"]
    assert (made.dag_id, made.doc_md) == ("other", "Add a task.")
