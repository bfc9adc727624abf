"""Values that go from task to task, and templates, as the real services handle them."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from headway.testing.data.known import known
from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services

NEW_YEAR = datetime(2013, 1, 1, tzinfo=ZoneInfo("America/New_York"))


@pytest.fixture(scope="module")
def values(stack: Stack) -> StackRun:
    return stack.run("values")


def test_values_arrive_as_they_were_left(values: StackRun) -> None:
    assert values.state == "success"
    assert values.xcom("pull") == {
        "given": [1, 2.5, None, "élan", {"deep": [True]}],
        "path": "/data",
        "none": None,
        "pulled": "green",
        "many": [7, "?"],
        "missing": "sweet",
    }


def test_multiple_outputs_are_xcoms_of_their_own(values: StackRun) -> None:
    assert values.xcom("several", "rows") == 7
    assert values.xcom("several") == {"path": "/data", "rows": 7}
    assert values.xcom("several_by_option", "path") == "/other"


def test_the_last_line_of_a_command_is_its_value(values: StackRun) -> None:
    assert values.xcom("of_output") == "got last line"
    assert values.xcom("of_argument") == "LAST LINE"


def test_a_task_may_keep_its_value_to_itself(values: StackRun) -> None:
    assert values.states()["kept_to_itself"] == "success"
    with pytest.raises(KeyError):
        values.xcom("kept_to_itself")


@pytest.fixture(scope="module")
def typed(stack: Stack) -> StackRun:
    return stack.run("typed_values")


def test_a_dataclass_of_the_version_arrives_as_itself(typed: StackRun) -> None:
    assert typed.state == "success"
    assert typed.xcom("carrier") == "UA 2013"
    assert typed.xcom("book") == {
        "__headway__": "dataclass",
        "class": "booking.classes:Flight",
        "fields": {
            "legs": {
                "__headway__": "tuple",
                "items": [
                    {
                        "__headway__": "dataclass",
                        "class": "booking.classes:Leg",
                        "fields": {
                            "carrier": "UA",
                            "departs": {
                                "__headway__": "datetime",
                                "value": "2013-01-01T00:00:00+00:00",
                            },
                        },
                    }
                ],
            }
        },
    }


def test_entries_are_expanded_over_whatever_their_keys_are(typed: StackRun) -> None:
    assert typed.xcom("entries") == ["(1, ('a',))", "(2, ('b', 'c'))"]


def test_a_tuple_is_expanded_over_and_a_table_arrives(typed: StackRun) -> None:
    items = ["('a', 1)", "{2: 'b'}", "frozenset({3})"]

    assert typed.xcom("shown") == [
        "['last', 'n']",
        "int64",
        "2013-01-02 00:00:00",
        [[item, "tuple"] for item in items],
    ]


@pytest.fixture(scope="module")
def impossible(stack: Stack) -> StackRun:
    return stack.run("impossible_values")


@pytest.mark.parametrize(
    ("task_id", "error"),
    [
        (
            "too_large",
            (
                "The return value of task 'too_large' has 1,048,577 bytes as JSON; an XCom may "
                "have 1,048,576. Store large data in a file and return its path."
            ),
        ),
        (
            "too_large_push",
            (
                "The XCom 'blob' of task 'too_large_push' has 1,048,580 bytes as JSON; an XCom may "
                "have 1,048,576. Store large data in a file and return its path."
            ),
        ),
        (
            "no_form",
            (
                "The return value of task 'no_form'['at'][0] is of type object, which cannot be "
                "an XCom. Return JSON values, tuples, sets, dates, decimals, bytes, UUIDs, paths, "
                "tables of pandas or Arrow, or dataclasses, named tuples, enumerations and "
                "pydantic models of the DAG's bundle; write anything else to a file and return "
                "its path."
            ),
        ),
        (
            "no_number",
            (
                "The return value of task 'no_number' is nan, which JSON does not have; use None "
                "instead."
            ),
        ),
        (
            "missing_key",
            (
                "Task 'missing_key' needs the XCom 'path' of task 'empty', which left none; push "
                "it there, or return a dictionary with @task(multiple_outputs=True)."
            ),
        ),
    ],
)
def test_what_cannot_be_a_value_fails_with_a_reason(
    impossible: StackRun, task_id: str, error: str
) -> None:
    attempt = impossible.attempt(task_id)

    assert (attempt.outcome, attempt.error) == ("failed", error)
    with pytest.raises(KeyError):
        impossible.xcom(task_id)


def test_the_largest_value_is_stored(impossible: StackRun) -> None:
    assert impossible.xcom("large_enough") == "x" * (2**20 - 2)


def test_templates_know_the_run(stack: Stack) -> None:
    (run,) = stack.backfill("templates", NEW_YEAR, NEW_YEAR)
    assert run.wait().state == "success", run.attempts()

    expected: dict[str, Any] = {
        "ds": "2013-01-01",
        "ds_nodash": "20130101",
        "ts": "2013-01-01T05:00:00+00:00",
        "ts_nodash": "20130101T050000",
        "ts_nodash_with_tz": "20130101T050000+0000",
        "data_interval_start": "2013-01-01 05:00:00+00:00",
        "data_interval_end": "2013-01-02 05:00:00+00:00",
        "logical_date": "2013-01-01 05:00:00+00:00",
        "run_id": "backfill__2013-01-01T05:00:00+00:00",
        "dag_run.run_type": "backfill",
        "dag_run.conf": "{}",
        "params.limit": "3",
        "dag.dag_id": "templates",
        "task.task_id": "all_names",
        "ti.try_number": "1",
        "macros.ds_add(ds, 5)": "2013-01-06",
        "data_interval_end | ds": "2013-01-02",
    }
    assert run.xcom("all_names") == expected
    assert run.xcom("bash") == "2013-01-01 3 1"


@pytest.mark.parametrize(
    ("task_id", "beginning"),
    [
        (
            "unknown_name",
            (
                "DAG 'broken_templates', task 'unknown_name': bash_command, line 2: the template "
                "does not render: 'data_interval_stat' is undefined. Did you mean "
                "data_interval_start"
            ),
        ),
        (
            "no_syntax",
            (
                "DAG 'broken_templates', task 'no_syntax': bash_command, line 1: the template does "
                "not render: unexpected end of template"
            ),
        ),
        (
            "unknown_param",
            (
                "DAG 'broken_templates', task 'unknown_param': bash_command, line 1: the template "
                "does not render: 'dict object' has no attribute 'carrier'."
            ),
        ),
    ],
)
def test_a_template_that_does_not_render_fails_its_task(
    broken_templates: StackRun, task_id: str, beginning: str
) -> None:
    attempt = broken_templates.attempt(task_id)

    assert attempt.outcome == "failed"
    assert known(attempt.error).startswith(beginning)
    assert "Traceback" not in broken_templates.log(task_id)


@pytest.fixture(scope="module")
def broken_templates(stack: Stack) -> StackRun:
    return stack.run("broken_templates")


def test_values_of_other_runs_and_dags(stack: Stack, values: StackRun) -> None:
    first = stack.run("others")
    second = stack.run("others", {"earlier": first.run_id})

    assert first.xcom("looks") == {
        "theirs": {"path": "/data", "rows": 7},
        "before": None,
        "named": first.run_id,
        "same": "none",
        "attempt": "looks",
        "host": True,
    }
    later = second.xcom("looks")
    assert isinstance(later, dict)
    assert (later["before"], later["named"]) == (first.xcom("looks"), first.run_id)
    refused = first.attempt("asks_elsewhere")
    assert "ask about the DAG 'nowhere': there is no such DAG in its bundle" in known(refused.error)
    assert refused.outcome == "failed"


def test_a_retry_finds_what_the_attempt_before_has_kept(stack: Stack) -> None:
    run = stack.run("keeping")

    assert run.state == "success"
    assert run.xcom("resume") == [{"id": 7}, 2, None, None]
    assert run.xcom("fetch") == [1, 2]
    assert run.xcom("collect") == [[10, 10], [20, 20]]
    with pytest.raises(KeyError):
        run.xcom("other")
