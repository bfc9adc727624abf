"""Errors of user code as text: what is wrong comes first."""

import pytest

from headway.airflow_layer import finder
from headway.domain.gist import gist
from headway.sdk.running.tracebacks import message_of, traceback_of
from headway.testing.data.airflow_names import without_airflow


def raised(source: str) -> BaseException:
    try:
        exec(compile(source, "dag.py", "exec"), {})
    except (ImportError, SyntaxError) as error:
        return error
    raise AssertionError


@pytest.mark.regression
def test_an_import_of_airflow_says_where_and_what_to_write() -> None:
    with without_airflow():
        finder.install()
        error = raised("x = 1\nfrom airflow.sdk import DAG, Asset\n")

    said = "airflow.sdk.Asset: Headway has no assets yet. Give the DAG a schedule by time"
    assert message_of(error).startswith(said)
    traceback = traceback_of(error)
    assert traceback is not None
    assert said in gist(traceback)
    assert gist(traceback).endswith('(File "dag.py", line 2)')


def test_an_import_of_what_moved_to_a_provider_package_says_where() -> None:
    with without_airflow():
        finder.install()
        error = raised("x = 1\nfrom airflow.hooks.mysql_hook import MySqlHook\n")

    assert gist(str(traceback_of(error))).endswith('(File "dag.py", line 2)')


def test_another_module_is_left_alone() -> None:
    assert message_of(raised("import airflows")) == (
        "ModuleNotFoundError: No module named 'airflows'"
    )


def test_a_syntax_error_says_so_first() -> None:
    first = message_of(raised("x = 1\ndef f(:\n")).splitlines()[0]

    assert first == 'SyntaxError: invalid syntax (File "dag.py", line 2)'


def test_the_cause_of_a_python_exception_comes_first() -> None:
    class PythonException(Exception):  # noqa: N818
        pass

    inner = "Traceback (most recent call last):\n  File \"udf.py\", line 1\nKeyError: 'rows'\n"
    error = PythonException(f"\n  An exception was thrown from the Python worker.\n{inner}")

    assert message_of(error).splitlines()[0].endswith("PythonException: KeyError: 'rows'")
