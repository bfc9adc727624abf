"""Operators that call a function in another Python: what they take and refuse."""

from collections.abc import Callable
from typing import Any

import pytest

from headway.domain.errors import DagError
from headway.sdk import (
    DAG,
    BranchExternalPythonOperator,
    BranchPythonVirtualenvOperator,
    ExternalPythonOperator,
    PythonVirtualenvOperator,
    task,
)
from headway.sdk.harness.specification import to_spec


def work() -> None: ...


def generate() -> Any:
    yield 1


async def wait() -> None: ...


def needs_ti(ti: Any) -> None: ...


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"python_callable": lambda: 1}, "give a function written with def"),
        ({"python_callable": print}, "give a function written with def"),
        ({"python_callable": generate}, "must be no generator and not async"),
        ({"python_callable": wait}, "must be no generator and not async"),
        ({"python_callable": needs_ti}, "in another Python, where there is no 'ti'; pass what"),
        ({"requirements": "requirements.txt"}, "are the lines themselves, and no file"),
        ({"requirements": [3]}, "requirements must be a string"),
        ({"pip_install_options": [3]}, "pip_install_options must be a string"),
        ({"python_version": 3.12}, "python_version must be a string"),
        ({"system_site_packages": 1}, "system_site_packages must be True or False"),
        ({"env_vars": "A=b"}, "env_vars must be a dictionary"),
        ({"inherit_env": 1}, "inherit_env must be True or False"),
        ({"expect_airflow": 1}, "expect_airflow must be True or False"),
        ({"skip_on_exit_code": 0}, "skip_on_exit_code holds 0, which means success"),
        ({"serializer": "dill"}, "does not know the argument 'serializer'"),
    ],
)
def test_what_cannot_run_in_another_python_is_refused(
    dag: DAG, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DagError, match=rf"DAG 'flights', task 'a'.*{message}"):
        PythonVirtualenvOperator(task_id="a", **{"python_callable": work, **options})


def test_a_function_that_needs_what_is_around_it_is_refused(dag: DAG) -> None:
    limit = 3

    @task.virtualenv
    def count() -> int:
        return limit

    with pytest.raises(DagError, match="without 'limit' of the function around it; pass that"):
        count()


def test_what_stays_here_may_be_given_or_left_out(dag: DAG) -> None:
    def optional(ti: object = None) -> None: ...

    PythonVirtualenvOperator(task_id="a", python_callable=optional)
    PythonVirtualenvOperator(task_id="b", python_callable=needs_ti, op_kwargs={"ti": "own"})


@pytest.mark.parametrize(
    ("make", "operator"),
    [
        (lambda f: task.virtualenv(requirements=["a==1"])(f)(), "python_virtualenv"),
        (lambda f: task.branch_virtualenv(f)(), "branch_virtualenv"),
        (lambda f: task.external_python(python="/python")(f)(), "external_python"),
        (lambda f: task.branch_external_python(python="/python")(f)(), "branch_external_python"),
        (
            lambda f: BranchPythonVirtualenvOperator(task_id="work", python_callable=f),
            "branch_virtualenv",
        ),
        (
            lambda f: BranchExternalPythonOperator(
                task_id="work", python_callable=f, python="/python"
            ),
            "branch_external_python",
        ),
    ],
)
def test_each_kind_is_named(dag: DAG, make: Callable[[Any], object], operator: str) -> None:
    make(work)

    assert to_spec(dag, "x.py").tasks[0].operator == operator


def test_options_of_a_virtual_environment_are_stored(dag: DAG) -> None:
    PythonVirtualenvOperator(
        task_id="a", python_callable=work, requirements=["b", "a"], python_version="3.12"
    )
    ExternalPythonOperator(task_id="b", python_callable=work, python="/{{ ds }}/python")

    a, b = to_spec(dag, "x.py").tasks
    assert a.arguments["requirements"] == ["b", "a"]
    assert (a.arguments["python_version"], b.arguments["python"]) == ("3.12", "/{{ ds }}/python")
