"""Operators and decorators take what Airflow's took, and say what has no effect."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from headway import sdk
from headway.airflow_layer import notes
from headway.airflow_layer.gaps import AirflowGapError
from headway.airflow_layer.tolerance import decorators
from headway.airflow_layer.tolerance.arguments import of_task
from headway.airflow_layer.tolerance.operators import TolerantOperator
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.errors import DagError
from headway.sdk.harness.specification import to_spec

operators: Any = import_module("headway.airflow_layer.tolerance.operators")
Bash = operators.BashOperator
Python = operators.PythonOperator
Triggers = operators.TriggerDagRunOperator


@pytest.fixture(autouse=True)
def dag() -> Iterator[sdk.DAG]:
    with sdk.DAG("d") as made:
        yield made


class Own(TolerantOperator):
    """As authors write one."""

    template_fields = ("table",)

    def __init__(self, table: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def execute(self, context: Any) -> str:
        return self.table


def test_an_operator_is_one_of_the_sdk_and_one_of_the_layer() -> None:
    task = operators.BranchPythonOperator(task_id="b", python_callable=print)

    assert isinstance(task, sdk.BranchPythonOperator)
    assert isinstance(task, operators.PythonOperator)
    assert isinstance(task, operators.BaseOperator)


def test_it_is_stored_as_that_of_the_sdk(dag: sdk.DAG) -> None:
    Bash(task_id="a", bash_command="true")
    Own(task_id="b", table="x")

    spec = to_spec(dag, "d.py")

    assert [task.operator for task in spec.tasks] == ["bash", f"{Own.__module__}.Own"]
    assert spec.tasks[1].arguments == {"table": "x"}


def test_old_arguments_have_their_new_names() -> None:
    task = Bash(task_id="a", bash_command="true", task_concurrency=2, xcom_push=False, doc="why")

    assert task.max_active_tis_per_dag == 2
    assert not task.do_xcom_push
    assert task.doc_md == "why"
    assert len(notes.notes()) == 3


def test_what_has_no_effect_is_dropped_with_one_note() -> None:
    for name in "ab":
        Python(
            task_id=name,
            python_callable=print,
            provide_context=True,
            executor_config={"KubernetesExecutor": {}},
        )

    assert [note.split()[2] for note in notes.notes()] == ["provide_context", "executor_config"]


def test_a_task_that_triggers_takes_the_old_name_of_its_date() -> None:
    task = Triggers(
        task_id="a",
        trigger_dag_id="b",
        execution_date="{{ ds }}",
        deferrable=False,
        run_after=None,
        openlineage_inject_parent_info=False,
    )

    assert task.logical_date == "{{ ds }}"
    assert [note.split()[2] for note in notes.notes()] == ["execution_date"]


def test_what_says_nothing_is_dropped_without_a_note() -> None:
    Bash(
        task_id="a",
        bash_command="true",
        executor_config={},
        run_as_user=None,
        wait_for_downstream=False,
        pool=None,
        retries=None,
        task_concurrency=None,
        outlets=[],
    )

    assert notes.notes() == []


def test_what_the_sdk_takes_stays() -> None:
    given = {"outlets": ["x"], "executor_config": {"pod": 1}}

    assert of_task(given, {"outlets"}) == {"outlets": ["x"]}
    assert len(notes.notes()) == 1


@pytest.mark.parametrize("given", [{"run_as_user": "ann"}, {"nonsense": 1}])
def test_what_would_change_a_run_is_refused_as_ever(given: dict[str, Any]) -> None:
    with pytest.raises(DagError, match=r"run_as_user|nonsense"):
        Bash(task_id="a", bash_command="true", **given)


def test_values_of_airflow_are_taken() -> None:
    task = Bash(
        task_id="a",
        bash_command="true",
        trigger_rule="none_failed_or_skipped",
        retry_exponential_backoff=2.0,
    )
    other = Bash(task_id="b", bash_command="true", retry_exponential_backoff=3)

    assert task.trigger_rule is TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS
    assert task.retry_exponential_backoff is True
    assert other.retry_exponential_backoff is True
    assert [note.split()[0] for note in notes.notes()] == ["The", "retry_exponential_backoff=3:"]


def test_the_id_may_come_without_its_name() -> None:
    assert operators.EmptyOperator("first").task_id == "first"
    assert Own("sales", task_id="own").table == "sales"


def test_a_task_may_have_default_args() -> None:
    task = Bash(task_id="a", bash_command="true", default_args={"retries": 4, "env": None, "x": 1})

    assert task.retries == 4
    assert notes.notes() == [
        "BashOperator does not take x, which is in the default_args of a task: leave it out."
    ]


def test_default_args_of_a_task_that_would_change_a_run_are_refused() -> None:
    with pytest.raises(DagError, match=r"DAG 'd', task 'a': .*there is no run_as_user"):
        Bash(task_id="a", bash_command="true", default_args={"run_as_user": "ann"})


def test_arguments_without_a_name_are_never_lost() -> None:
    with pytest.raises(DagError, match=r"DAG 'd', task 'a': EmptyOperator has 2 arguments without"):
        operators.EmptyOperator("a", 3)


def test_mapped_tasks_take_the_same() -> None:
    task = Bash.partial(task_id="a", task_concurrency=3).expand(bash_command=["a", "b"])

    assert task.max_active_tis_per_dag == 3


def test_decorated_tasks_take_the_same(dag: sdk.DAG) -> None:
    def first() -> None: ...

    def second() -> str:
        return "true"

    def third() -> None: ...

    decorators.task(task_concurrency=3, provide_context=True)(first)()
    decorators.task.bash(executor_config={"pod": 1})(second)()
    decorators.task(third)()

    assert dag.task_dict["first"].max_active_tis_per_dag == 3
    assert list(dag.task_dict) == ["first", "second", "third"]
    assert [note.split()[2] for note in notes.notes()] == [
        "task_concurrency",
        "provide_context",
        "executor_config",
    ]


def test_what_the_sdk_gets_the_layer_has(monkeypatch: pytest.MonkeyPatch) -> None:
    class Later(sdk.EmptyOperator):
        operator_name = "later"

    monkeypatch.setattr(sdk, "LaterOperator", Later, raising=False)

    made = operators.LaterOperator("a")

    assert isinstance(made, Later)
    with pytest.raises(AttributeError):
        _ = operators.TriggerRule  # no operator


def test_a_function_that_asks_for_a_store_of_assets_is_refused() -> None:
    scope: dict[str, Any] = {}
    exec("def work(rows, asset_state_store=None): ...", scope)
    said = r"work\(asset_state_store=…\): Headway has no assets yet, and so no store"

    for make in (
        decorators.task,
        decorators.task(retries=2),
        decorators.task.branch,
        lambda function: Python(task_id="t", python_callable=function),
        lambda function: Python.partial(task_id="t", python_callable=function),
    ):
        with pytest.raises(AirflowGapError, match=said):
            make(scope["work"])
