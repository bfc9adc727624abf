"""Which exceptions a task is tried again for."""

import json
from xml.etree import ElementTree

import pytest

from headway.domain.dag.spec import TaskSpec
from headway.domain.errors import DagError
from headway.sdk import DAG, PythonOperator
from headway.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowTaskTerminated,
    AirflowTaskTimeout,
)
from headway.sdk.harness.execution import execute
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime
from headway.sdk.values.retrying import exception_names, may_retry
from headway.testing.data.seed import info


class UnluckyError(Exception):
    """An error of the DAG file's own."""


class VeryUnluckyError(UnluckyError):
    """A special case of it."""


def spec(retry_on: object = None, fail_fast_on: object = None) -> TaskSpec:
    return TaskSpec(
        task_id="t",
        operator="python",
        retry_on=exception_names(retry_on, "retry_on"),
        fail_fast_on=exception_names(fail_fast_on, "fail_fast_on"),
    )


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (None, ()),
        (ConnectionError, ("builtins.ConnectionError",)),
        ("ConnectionError", ("builtins.ConnectionError",)),
        ("IOError", ("builtins.OSError",)),
        (json.JSONDecodeError, ("json.decoder.JSONDecodeError",)),
        ("requests.ConnectionError", ("requests.ConnectionError",)),
        ([KeyError, "a.B", KeyError], ("a.B", "builtins.KeyError")),
        ({ValueError}, ("builtins.ValueError",)),
        (UnluckyError, (f"{__name__}.UnluckyError",)),
    ],
)
def test_exceptions_are_stored_by_name(given: object, names: tuple[str, ...]) -> None:
    assert exception_names(given, "retry_on") == names


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "retry_on must be exception classes, or their names"),
        ([3], "retry_on must be exception classes, or their names"),
        (int, "retry_on must be exception classes"),
        (KeyError("x"), "retry_on must be exception classes"),
        ("", "retry_on must be exception classes"),
        ("a..b", "retry_on must be exception classes"),
        ("a-b.C", "retry_on must be exception classes"),
        ("MyError", "names 'MyError', which is no exception of Python's own; name it with its mod"),
        ("print", "names 'print', which is no exception"),
        ([], "retry_on names no exception; name one, or leave it out"),
    ],
)
def test_anything_else_is_refused(given: object, message: str) -> None:
    with pytest.raises(DagError, match=message):
        exception_names(given, "retry_on")


@pytest.mark.parametrize(
    ("task", "error", "again"),
    [
        (spec(), KeyError, True),
        (spec(retry_on=ConnectionError), ConnectionError, True),
        (spec(retry_on=ConnectionError), ConnectionResetError, True),
        (spec(retry_on=ConnectionError), OSError, False),
        (spec(retry_on=[KeyError, UnluckyError]), VeryUnluckyError, True),
        (spec(retry_on=VeryUnluckyError), UnluckyError, False),
        (spec(retry_on="nowhere.Error"), KeyError, False),
        # It is called json.decoder.JSONDecodeError; and ParseError is a SyntaxError.
        (spec(retry_on="json.JSONDecodeError"), json.JSONDecodeError, True),
        (spec(retry_on="json.JSONDecodeError"), ValueError, False),
        (spec(retry_on="json.dumps"), ValueError, False),
        (spec(fail_fast_on=SyntaxError), ElementTree.ParseError, False),
        (spec(fail_fast_on=KeyError), ValueError, True),
        (spec(retry_on=LookupError, fail_fast_on=KeyError), KeyError, False),
        (spec(retry_on=LookupError, fail_fast_on=KeyError), IndexError, True),
        (spec(retry_on=ConnectionError), AirflowTaskTimeout, False),
        (spec(retry_on=TimeoutError), AirflowTaskTimeout, True),
        (spec(retry_on=AirflowException), AirflowTaskTimeout, True),
        (spec(retry_on=ConnectionError), AirflowTaskTerminated, False),
        (spec(retry_on=AirflowTaskTerminated), AirflowTaskTerminated, True),
        (spec(fail_fast_on=AirflowTaskTimeout), AirflowTaskTimeout, False),
    ],
)
def test_subclasses_count_and_what_fails_fast_comes_first(
    task: TaskSpec, error: type[Exception], again: bool
) -> None:
    assert may_retry(task, error) is again


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ConnectionResetError("gone"), True),
        (ValueError("no"), False),
        (SystemExit(3), False),
        (AirflowFailException("for good"), False),
    ],
)
def test_a_task_says_whether_what_it_raised_is_worth_another_try(
    error: BaseException, again: bool
) -> None:
    def work() -> None:
        raise error

    with DAG("d", default_args={"retry_on": [ConnectionError, AirflowException]}):
        task = PythonOperator(task_id="t", python_callable=work)

    facts = RunFacts(dag_id="d", run_id="r", task_id="t", data_interval=info(0).data_interval)
    result = execute(task, facts, LocalRuntime("t"))

    assert result.may_retry is again
