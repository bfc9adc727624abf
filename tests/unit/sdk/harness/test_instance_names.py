"""`map_index_template`: what an instance is called, before it has run and when it has."""

from collections.abc import Callable
from typing import Any

import pytest

from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk import DAG, BashOperator, EmptyOperator, get_current_context, task
from headway.sdk.harness.execution import Result
from headway.sdk.harness.specification import to_spec

Run = Callable[..., Result]


@pytest.fixture
def names() -> list[str]:
    """What the instance is called, each time that it is told."""
    return []


@pytest.fixture
def named(run: Run, names: list[str]) -> Run:
    """Run a task that may tell its name."""
    return lambda *args: run(*args, named=names.append)


def test_the_arguments_of_an_instance_name_it(dag: DAG, named: Run, names: list[str]) -> None:
    @task(map_index_template="{{ task.op_kwargs['path'] }} on {{ ds }}")
    def count(path: str) -> None: ...

    output = count.expand(path=["a {{ ds_nodash }}", "b"])

    assert named(output, 0).outcome is Outcome.SUCCESS
    assert named(output, 1).outcome is Outcome.SUCCESS
    assert names == ["a 20130101 on 2013-01-01", "b on 2013-01-01"]
    spec = to_spec(dag, "x.py").task("count")
    assert spec.map_index_template == "{{ task.op_kwargs['path'] }} on {{ ds }}"


def test_an_operator_has_a_name_in_partial(dag: DAG, named: Run, names: list[str]) -> None:
    shown = BashOperator.partial(
        task_id="show", map_index_template="{{ task.bash_command }}", do_xcom_push=False
    ).expand(bash_command=["true", "true # {{ ds }}"])

    named(shown, 1)

    assert names == ["true # 2013-01-01"]


def test_a_task_puts_into_its_context_what_names_it(dag: DAG, named: Run, names: list[str]) -> None:
    @task(map_index_template="{{ carrier | upper }}")
    def load(n: int) -> None:
        get_current_context()["carrier"] = f"ua{n}"

    assert named(load.expand(n=[1, 2]), 1).outcome is Outcome.SUCCESS

    assert names == ["UA2"]


def test_a_name_that_changes_is_told_again(dag: DAG, named: Run, names: list[str]) -> None:
    @task(map_index_template="{{ rows | default('no') }} rows")
    def load() -> None:
        get_current_context()["rows"] = 3

    named(load())

    assert names == ["no rows", "3 rows"]


def test_a_task_that_fails_is_named_as_far_as_that_can_be(
    dag: DAG, named: Run, names: list[str]
) -> None:
    @task(map_index_template="{{ carrier }}")
    def load(knows: bool) -> None:
        if knows:
            get_current_context()["carrier"] = "UA"
        raise ValueError("no such file")

    output = load.expand(knows=[False, True])

    assert [named(output, n).error for n in range(2)] == ["ValueError: no such file"] * 2
    assert names == ["UA"]


def test_a_task_that_succeeds_fails_if_it_cannot_be_named(dag: DAG, named: Run) -> None:
    @task(map_index_template="{{ carrier }}")
    def load() -> None: ...

    result = named(load())

    assert result.outcome is Outcome.FAILED
    assert "task 'load': map_index_template, line 1: the template does not render" in str(
        result.error
    )


@pytest.mark.parametrize(
    ("text", "name"), [("a\0b", "ab"), ("\ud800", "?"), ("é" * 251, "é" * 249 + "…"), ("", None)]
)
def test_a_name_is_such_that_it_can_be_stored(
    dag: DAG, named: Run, names: list[str], text: str, name: str | None
) -> None:
    @task(map_index_template="{{ it }}")
    def load() -> None:
        get_current_context()["it"] = text

    assert named(load()).outcome is Outcome.SUCCESS
    assert names == ([] if name is None else [name])


def test_a_task_without_a_template_has_no_name(dag: DAG, named: Run, names: list[str]) -> None:
    assert named(EmptyOperator(task_id="x")).outcome is Outcome.SUCCESS
    assert names == []


@pytest.mark.parametrize(
    ("template", "said"), [(3, "must be a string"), ("{{ ds", "is no template")]
)
def test_what_is_no_template_is_refused(dag: DAG, template: Any, said: str) -> None:
    with pytest.raises(DagError, match=f"task 'x': map_index_template {said}"):
        EmptyOperator(task_id="x", map_index_template=template)
