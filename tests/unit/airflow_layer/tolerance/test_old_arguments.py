"""Every old argument says what to write, is refused, or means what it meant."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from headway import sdk
from headway.airflow_layer import notes
from headway.airflow_layer.gaps import AirflowGapError
from headway.airflow_layer.tolerance.dags import DAG
from headway.airflow_layer.tolerance.old_arguments import OF_DAGS, OF_TASKS
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import DagError
from headway.sdk.harness.specification import to_spec

operators: Any = import_module("headway.airflow_layer.tolerance.operators")

VALUES: dict[str, Any] = {
    "concurrency": 3,
    "task_concurrency": 3,
    "max_active_tis_per_run": 3,
    "max_active_tasks": 3,
    "max_active_runs": 3,
    "xcom_push": False,
    "skip_exit_code": 7,
    "catchup": True,
    "tags": ["a"],
    "timetable": "@daily",
    "dagrun_timeout": 60,
    "default_args": {"retries": 3},
    "params": {"rows": 3},
    "templates_dict": {"a": "b"},
    "templates_exts": [".txt"],
    "allow_nested_operators": False,
    "ignore_first_depends_on_past": False,
    "auto_register": False,
    "render_template_as_native_obj": True,
    "user_defined_macros": {"a": 1},
    "user_defined_filters": {"a": len},
    "jinja_environment_kwargs": {"trim_blocks": True},
    "template_searchpath": "texts",
}
"""Values where text will not do."""

NOT_STORED = {
    "user_defined_macros",
    "user_defined_filters",
    "jinja_environment_kwargs",
    "template_searchpath",
    "render_template_as_native_obj",
}
"""Arguments that DAGs of the SDK take and do not store; their own tests tell what they do."""


def of_a_task(**given: Any) -> DagSpec:
    with sdk.DAG("d") as dag:
        operators.BashOperator("t", bash_command="true", **given)
    return to_spec(dag, "d.py")


def of_a_dag(**given: Any) -> DagSpec:
    with DAG("d", **given) as dag:
        operators.EmptyOperator("t")
    return to_spec(dag, "d.py")


def outcome(make: Callable[..., DagSpec], name: str) -> object:
    """Return what is stored with an argument, or what is said of it."""
    try:
        return make(**{name: VALUES.get(name, "other")})
    except (DagError, AirflowGapError) as error:
        return str(error)


@pytest.mark.parametrize("name", OF_TASKS)
def test_no_old_argument_of_a_task_is_lost_without_a_word(name: str) -> None:
    found = outcome(of_a_task, name)
    name = OF_TASKS[name].renamed or name

    assert name in found if isinstance(found, str) else notes.notes() or found != of_a_task()


@pytest.mark.parametrize("name", sorted(OF_DAGS.keys() - NOT_STORED))
def test_no_old_argument_of_a_dag_is_lost_without_a_word(name: str) -> None:
    found = outcome(of_a_dag, name)

    assert name in found if isinstance(found, str) else notes.notes() or found != of_a_dag()


@pytest.mark.parametrize("name", OF_TASKS)
def test_a_value_that_says_nothing_changes_nothing_of_a_task(name: str) -> None:
    for idle in OF_TASKS[name].idle:
        assert of_a_task(**{name: idle}) == of_a_task()
    assert notes.notes() == []


@pytest.mark.parametrize("name", OF_DAGS)
def test_a_value_that_says_nothing_changes_nothing_of_a_dag(name: str) -> None:
    for idle in OF_DAGS[name].idle:
        assert of_a_dag(**{name: idle}) == of_a_dag()
    assert notes.notes() == []
