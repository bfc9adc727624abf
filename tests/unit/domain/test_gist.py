"""The line of an error that says what is wrong."""

import traceback
from textwrap import indent

import pytest

from headway.domain.gist import gist

ZERO = "ZeroDivisionError: division by zero"
CALL = "o49.collectToPython"


def syntax_error() -> str:
    try:
        compile("x = 1\ndef work(:\n", "x.py", "exec")
    except SyntaxError as error:
        return "".join(traceback.format_exception_only(error))
    raise AssertionError


def divided() -> str:
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        return traceback.format_exc()
    raise AssertionError


PYTHON_EXCEPTION = f"""pyspark.errors.exceptions.connect.PythonException: \
{""}
  An exception was thrown from the Python worker. Please see the stack trace below.
{divided()}

JVM stacktrace:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
KeyError: 'of the machine'
"""
PY4J = f"""py4j.protocol.Py4JJavaError: An error occurred while calling {CALL}.
: org.apache.spark.SparkException: Job aborted due to stage failure: {divided()}
	at org.apache.spark.scheduler.Task.run(Task.scala:1)
"""
SUBMIT = "spark-submit of a.py exited with 1. Its output ends with:\n" + indent(divided(), "  ")


RAISED = """Traceback (most recent call last):
  File "other.py", line 1, in call
    work()
  File "dag.py", line 3, in work
    raise it
ValueError: no
at all
"""
OTHER = RAISED.replace("no", "yes")


@pytest.mark.regression
@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("", ""),
        ("one line", "one line"),
        ("ValueError: first\nsecond", "ValueError: first"),
        (RAISED, 'ValueError: no (File "dag.py", line 3)'),
        (
            f"{RAISED}\nDuring …:\n\n{RAISED.replace('no', 'yes')}",
            'ValueError: yes (File "dag.py", line 3)',
        ),
        (syntax_error(), 'SyntaxError: invalid syntax (File "x.py", line 2)'),
        (RAISED.removesuffix("ValueError: no\nat all\n"), 'raise it (File "dag.py", line 3)'),
        (
            f'Traceback (most recent call last):\n  File "dag.py", line 3\n{syntax_error()}',
            "SyntaxError: invalid syntax",
        ),
        (
            PYTHON_EXCEPTION,
            f"pyspark.errors.exceptions.connect.PythonException: {ZERO}",
        ),
        (
            PY4J,
            f"py4j.protocol.Py4JJavaError: An error occurred while calling {CALL}: {ZERO}",
        ),
        (
            SUBMIT,
            f"spark-submit of a.py exited with 1. Its output ends with: {ZERO}",
        ),
        ("It failed:\n  in this way\n  and that", "It failed: in this way"),
    ],
)
def test_the_gist_of_an_error(error: str, said: str) -> None:
    assert gist(error) == said
