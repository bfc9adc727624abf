"""Connections and variables in tasks, in templates, and where they are refused."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headway.domain.errors import SecretRefusedError
from headway.domain.states import Outcome
from headway.sdk import DAG, BaseHook, BashOperator, Connection, Variable, task
from headway.sdk.exceptions import AirflowException
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.running.task_runtime import XComs

CANARY = "canary-8f1e"
DB = Connection(conn_id="my-db", conn_type="db", host="h", password=CANARY, extra={"a": 1})


@dataclass
class Given:
    """What a task is granted, and what it has asked for."""

    variables: Mapping[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def get_connection(self, conn_id: str) -> Connection | None:
        self.asked.append(conn_id)
        if conn_id == "forbidden":
            raise SecretRefusedError("DAG 'flights' may not read the connection 'forbidden'.")
        return DB if conn_id in ("my-db", "db") else None

    def get_variable(self, key: str) -> str | None:
        self.asked.append(key)
        return self.variables.get(key)


@pytest.fixture
def given() -> Given:
    return Given({"region": "eu", "limits": '{"rows": 3}'})


@pytest.fixture
def dag() -> Any:
    with DAG("flights") as dag:
        yield dag


def test_a_task_reads_what_it_is_granted(dag: DAG, run: Any, xcoms: XComs, given: Given) -> None:
    @task
    def read() -> list[Any]:
        connection = BaseHook.get_connection("my-db")
        return [
            connection.host,
            connection.password,
            connection.extra_dejson["a"],
            Variable.get("region"),
            Variable.get("limits", deserialize_json=True)["rows"],
            Variable.get("absent", default=None),
            Variable.get("absent", "positional"),
        ]

    run(read(), secrets=given)

    assert xcoms["read", "return_value"] == ["h", CANARY, 1, "eu", 3, None, "positional"]


def test_templates_read_it_too_and_ask_for_nothing_else(
    dag: DAG, run: Any, xcoms: XComs, given: Given
) -> None:
    template = (
        "{{ conn.db.host }} {{ conn['my-db'].password }} {{ var.value.region }} "
        "{{ var.json.limits.rows }} {{ var.value.get('absent', 'none') }} {{ var.value['region'] }}"
    )

    @task
    def say(text: str) -> str:
        return text

    run(say(template), secrets=given)

    assert xcoms["say", "return_value"] == f"h {CANARY} eu 3 none eu"
    assert given.asked == ["db", "my-db", "region", "limits", "absent", "region"]


def test_a_task_that_needs_none_asks_for_none(dag: DAG, run: Any, given: Given) -> None:
    @task
    def land(conn: Any, var: Any, **context: Any) -> str:
        return f"{conn!r:.0}{sorted(context)}{var.value is not None}"

    assert run(land(), secrets=given).outcome is Outcome.SUCCESS
    assert given.asked == []


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ("{{ conn.absent.host }}", "There is no connection 'absent'; have a user run"),
        ("{{ var.value.absent }}", "There is no variable 'absent'; have a user run"),
        ("{{ var.json.region }}", "The variable 'region' does not hold JSON."),
        ("{{ conn.forbidden.host }}", "may not read the connection 'forbidden'"),
        ("{{ var.text.region }}", "has no attribute 'text'"),
    ],
)
def test_what_cannot_be_read_fails_the_task_by_a_clear_error(
    dag: DAG, run: Any, given: Given, template: str, error: str
) -> None:
    result = run(BashOperator(task_id="t", bash_command=f"echo {template}"), secrets=given)

    assert result.outcome is Outcome.FAILED
    assert error in result.error


def test_a_task_cannot_set_a_variable(dag: DAG, run: Any, given: Given) -> None:
    @task
    def write() -> None:
        Variable.set("region", CANARY)

    result = run(write(), secrets=given)

    assert "A task cannot set the variable 'region'" in result.error
    assert CANARY not in result.error


@pytest.mark.parametrize(
    "call",
    ["BaseHook.get_connection('c')", "Variable.get('c', default=1)"],
)
def test_a_dag_file_cannot_read_them(tmp_path: Path, call: str) -> None:
    file = tmp_path / "early.py"
    file.write_text(f"from headway.sdk import BaseHook, Variable\n{call}\n")

    with pytest.raises(AirflowException, match=r"called while a DAG file is read\.") as caught:
        load_dag_file(file, tmp_path)
    assert "call it inside of a task's function" in str(caught.value)
    assert "{{ conn.my_id.host }}" in str(caught.value)


def test_nor_can_anything_else_outside_of_a_task() -> None:
    with pytest.raises(AirflowException, match=r"Variable.get\('v'\) was called outside of a task"):
        Variable.get("v")
