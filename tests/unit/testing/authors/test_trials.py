"""`run_task` and `run_dag` of `headway.testing`."""

import logging
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from headway.domain.errors import DagError, HeadwayError
from headway.sdk import DAG, BaseHook, BashOperator, Connection, Variable, task
from headway.testing import DagResult, TaskResult, run_dag, run_task

DAY = datetime(2024, 1, 5, tzinfo=UTC)


@pytest.fixture
def dag() -> Iterator[DAG]:
    with DAG("trial", schedule="@daily", start_date=DAY, params={"a": 1}) as made:
        yield made


@pytest.mark.usefixtures("dag")
def test_what_a_task_left_printed_and_logged(capsys: pytest.CaptureFixture[str]) -> None:
    @task
    def work(ti: Any, task: Any) -> int:
        ti.xcom_push("rows", 3)
        sys.stdout.write("printed €\n")
        logging.getLogger("trial").info("logged")
        return 5

    root = logging.root.level, list(logging.root.handlers)
    result = run_task(work())
    assert "printed €\n" in capsys.readouterr().out

    assert result == TaskResult(
        task_id="work",
        state=result.state,
        xcoms={"rows": 3, "return_value": 5},
        return_value=5,
        log="[work] running\nprinted €\nINFO trial: logged\n[work] success\n",
    )
    assert result.state == "success"
    assert (logging.root.level, logging.root.handlers) == root


def test_the_log_has_what_commands_print(dag: DAG) -> None:
    result = run_task(BashOperator(task_id="say", bash_command="echo said {{ ds }}; echo bad >&2"))

    assert "said 20" in result.log
    assert "bad\n" in result.log
    assert dag.has_task("say")


def test_the_environment_of_the_test_stays_as_it_is(
    dag: DAG, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CTX_DAG_EMAIL", "left@example.org")
    monkeypatch.setenv("AIRFLOW_CTX_TASK_ID", "outer")
    before = dict(os.environ)

    result = run_task(BashOperator(task_id="say", bash_command="env | grep _CTX_ | sort"))

    assert "AIRFLOW_CTX_TASK_ID=say\n" in result.log
    assert "HEADWAY_CTX_DAG_ID=trial\n" in result.log
    assert "left@example.org" not in result.log
    assert dict(os.environ) == before
    assert dag.has_task("say")


def test_a_task_without_a_dag() -> None:
    assert run_task(BashOperator(task_id="say", bash_command="echo a")).return_value == "a"


@pytest.mark.usefixtures("dag")
def test_a_task_that_fails_says_why() -> None:
    @task
    def work() -> None:
        raise ValueError("no flights")

    result = run_task(work())

    assert (result.state, result.error) == ("failed", "ValueError: no flights")
    assert "Traceback" in result.log
    assert "no flights" in repr(result)


@pytest.mark.usefixtures("dag")
def test_a_task_knows_what_the_test_gives_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADWAY_CONN_OTHER", "http://other")

    @task
    def read(params: Any, dag_run: Any) -> list[Any]:
        hosts = [BaseHook.get_connection(name).host for name in ("uri", "fields", "made")]
        return [*hosts, Variable.get("text"), Variable.get("held"), params, dag_run.conf]

    @task
    def other() -> None:
        BaseHook.get_connection("other")

    result = run_task(
        read(),
        conf={"b": 2},
        connections={
            "uri": "http://u",
            "fields": {"conn_type": "http", "host": "f"},
            "made": Connection(conn_id="made", conn_type="http", host="m"),
        },
        variables={"text": "t", "held": [1]},
    )

    assert result.return_value == ["u", "f", "m", "t", "[1]", {"a": 1, "b": 2}, {"b": 2}]
    assert "There is no connection 'other'" in (run_task(other()).error or "")


@pytest.mark.usefixtures("dag")
def test_the_dates_of_a_run() -> None:
    @task
    def dates(data_interval_start: Any, data_interval_end: Any, dag_run: Any) -> list[str]:
        found = (data_interval_start, data_interval_end, dag_run.start_date)
        return [date.isoformat() for date in found]

    asked = dates()
    noon = datetime(2024, 1, 7, 12, tzinfo=UTC)

    assert run_task(asked, logical_date="2024-01-05", now=noon).return_value == [
        "2024-01-05T00:00:00+00:00",
        "2024-01-06T00:00:00+00:00",
        "2024-01-07T12:00:00+00:00",
    ]
    assert run_task(asked, logical_date=DAY, now=noon) == run_task(
        asked, logical_date="2024-01-05", now=noon
    )
    last = run_task(asked, now=noon).return_value
    assert isinstance(last, list)
    assert last[0] == "2024-01-06T00:00:00+00:00"
    whole = run_task(asked, data_interval=(DAY, noon), now=noon).return_value
    assert isinstance(whole, list)
    assert whole[1] == "2024-01-07T12:00:00+00:00"


@pytest.mark.usefixtures("dag")
def test_xcoms_of_other_tasks_are_given() -> None:
    @task
    def land() -> list[int]:
        return [1]

    @task
    def double(x: int) -> int:
        return 2 * x

    @task
    def add(xs: Any, rows: Any) -> Any:
        return sum(xs) + rows

    landed = land()
    doubled = double.expand(x=landed)
    added = add(doubled, landed["rows"])

    assert run_task(doubled, map_index=1, xcoms={"land": [3, 4]}).return_value == 8
    given: dict[str | tuple[str, str], object] = {"double": [1, 2], ("land", "rows"): 7}
    assert run_task(added, xcoms=given).return_value == 10
    missing = run_task(added, xcoms={"double": [1, 2]})
    assert missing.state == "failed"
    assert "xcoms={('land', 'rows'): …}" in (missing.error or "")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"xcom": {}}, "did you mean xcoms"),
        ({"now": DAY.replace(tzinfo=None)}, "now=.* needs a time zone"),
        ({"logical_date": DAY.replace(tzinfo=None)}, "logical_date=.* needs a time zone"),
        ({"conf": {"a": object()}}, "The conf"),
        ({"map_index": 0}, "it is not mapped"),
        ({"xcoms": {"nowhere": 1}}, "has no task 'nowhere'"),
    ],
)
def test_what_run_task_refuses(dag: DAG, given: Any, message: str) -> None:
    with pytest.raises(HeadwayError, match=message):
        run_task(BashOperator(task_id="say", bash_command="echo", dag=dag), **given)


def pipeline() -> DAG:
    with DAG("pipeline") as made:

        @task
        def land(params: Any) -> list[int]:
            return [1, params.get("last", 2)]

        @task
        def divide(x: int) -> int:
            return 6 // x

        @task
        def add(xs: Any) -> int:
            return sum(xs)

        @task.short_circuit
        def stop(total: int) -> bool:
            return total > 100

        @task
        def never() -> None: ...

        stop(add(divide.expand(x=land()))) >> never()
    return made


def test_a_whole_dag_runs() -> None:
    result = run_dag(pipeline(), conf={"last": 3})

    assert isinstance(result, DagResult)
    assert (result.dag_id, result.state, result.errors) == ("pipeline", "success", {})
    assert result.states == {
        "land": "success",
        "divide[0]": "success",
        "divide[1]": "success",
        "add": "success",
        "stop": "success",
        "never": "skipped",
    }
    assert result.xcoms["divide"] == {"return_value": [6, 2]}
    assert result.xcoms["add"] == {"return_value": 8}
    assert list(result.tasks) == ["land", "divide[0]", "divide[1]", "add", "stop"]
    assert result.tasks["divide[1]"].return_value == 2
    assert result.tasks["divide[1]"].log == "[divide[1]] running\n[divide[1]] success\n"
    assert result.log.startswith("pipeline: data interval ")
    assert "[never] skipped" in result.log


def test_a_dag_that_fails_says_where() -> None:
    result = run_dag(pipeline(), conf={"last": 0})

    assert result.state == "failed"
    assert list(result.errors) == ["divide[1]"]
    assert "ZeroDivisionError" in result.errors["divide[1]"]
    assert result.states["add"] == "upstream_failed"
    assert "errors" not in repr(result)


def test_run_dag_takes_no_xcoms() -> None:
    given: Any = {"xcoms": {}}
    with pytest.raises(DagError, match=r"run_dag\(\) of 'pipeline' does not know .*'xcoms'"):
        run_dag(pipeline(), **given)


@pytest.mark.usefixtures("dag")
def test_a_task_goes_on_with_the_state_that_it_is_given() -> None:
    @task(retries=1)
    def work(task_state_store: Any, try_number: int) -> list[Any]:
        before = task_state_store.get("job")
        task_state_store.set("job", "new")
        return [before, try_number]

    result = run_task(work(), try_number=2, task_state={"job": "old"})

    assert result.return_value == ["old", 2]
    assert result.task_state == {"job": "new"}
    assert run_task(work()).return_value == [None, 1]


@pytest.mark.parametrize(("retries", "kept", "tries"), [(2, True, 3), (2, False, 1), (0, True, 1)])
def test_a_task_that_keeps_state_is_tried_again(
    dag: DAG, retries: int, kept: bool, tries: int
) -> None:
    called: list[str] = []

    @task(
        retries=retries,
        on_retry_callback=lambda context: called.append("retry"),
        on_failure_callback=lambda context: called.append("failure"),
    )
    def work(task_state_store: Any) -> None:
        called.append("attempt")
        if kept:
            task_state_store.set("job", 1)
        raise RuntimeError("lost")

    work()
    result = run_dag(dag)

    assert result.state == "failed"
    assert called == ["attempt", "retry"] * (tries - 1) + ["attempt", "failure"]
