"""XComs of other runs and DAGs, as a task asks its runtime for them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.unit.sdk.conftest import DAY

from headway.domain.arguments import JsonValue
from headway.sdk import DAG, PythonOperator
from headway.sdk.context.build import build_context
from headway.sdk.context.task_instance import TaskInstance
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime, RunName


@dataclass(frozen=True, slots=True)
class Runs(LocalRuntime):
    """A runtime that knows what tasks of other runs have left: by DAG and run, task and index."""

    others: Mapping[RunName, Mapping[tuple[str, int], JsonValue]] = field(default_factory=dict)
    last: str | None = None

    def pull_xcom(
        self, task_id: str, key: str, map_index: int = -1, of: RunName | None = None
    ) -> JsonValue:
        if of is None:
            return LocalRuntime.pull_xcom(self, task_id, key, map_index)
        return self.others[of][task_id, map_index]

    def pull_xcoms(self, task_id: str, key: str, of: RunName | None = None) -> list[JsonValue]:
        if of is None:
            return LocalRuntime.pull_xcoms(self, task_id, key)
        left = self.others.get(of, {})
        return [value for (name, index), value in left.items() if name == task_id and index >= 0]

    def latest_run(self, task_id: str, key: str, until: RunName) -> str | None:
        return self.last


SAME = RunName("other", "r")
EARLIER = RunName("flights", "before")
OTHERS: Mapping[RunName, Mapping[tuple[str, int], JsonValue]] = {
    SAME: {("land", -1): "theirs", ("me", -1): "my namesake", ("each", 0): 10, ("each", 1): 11},
    EARLIER: {("land", -1): "old", ("me", -1): "my own", ("each", 0): 1},
}


def instance(dag: DAG, **runtime: Any) -> TaskInstance:
    me = PythonOperator(task_id="me", python_callable=print)
    facts = RunFacts(dag_id="flights", run_id="r", task_id="me", data_interval=DAY)
    left: dict[tuple[str, str], JsonValue] = {("land", "return_value"): "ours"}
    ti = build_context(me, facts, Runs("me", left, others=OTHERS, **runtime))["ti"]
    assert isinstance(ti, TaskInstance)
    return ti


@pytest.mark.parametrize(
    ("ask", "value"),
    [
        ({"task_ids": "land"}, "ours"),
        ({"task_ids": "land", "dag_id": "flights", "run_id": "r"}, "ours"),
        ({"task_ids": "land", "dag_id": "other"}, "theirs"),
        ({"task_ids": "land", "run_id": "before"}, "old"),
        ({"task_ids": "land", "run_id": "never", "default": "none"}, "none"),
        ({"dag_id": "other"}, "my namesake"),
        ({"task_ids": ["land", "each", "no"], "dag_id": "other"}, ["theirs", 10, 11, None]),
        ({"task_ids": "each", "dag_id": "other"}, [10, 11]),
        ({"task_ids": "each", "dag_id": "other", "map_indexes": 1}, 11),
        ({"task_ids": "each", "dag_id": "other", "map_indexes": [1, 5]}, [11, None]),
        ({"task_ids": "gone", "dag_id": "other", "default": 0}, 0),
    ],
)
def test_what_is_pulled_of_which_run(dag: DAG, ask: dict[str, Any], value: JsonValue) -> None:
    assert instance(dag).xcom_pull(**ask) == value


@pytest.mark.parametrize(
    ("last", "ask", "value"),
    [
        ("before", {"task_ids": "land"}, "old"),
        ("before", {}, "my own"),
        ("before", {"task_ids": "each"}, [1]),
        ("before", {"task_ids": "each", "map_indexes": [0, 1]}, [1, None]),
        ("r", {"task_ids": "land"}, "ours"),
        (None, {"task_ids": "land", "default": 3}, 3),
        (None, {"task_ids": "land", "map_indexes": [0]}, [None]),
        ("r", {"task_ids": "land", "dag_id": "other"}, "theirs"),
    ],
)
def test_the_last_run_that_left_something(
    dag: DAG, last: str | None, ask: dict[str, Any], value: JsonValue
) -> None:
    assert instance(dag, last=last).xcom_pull(include_prior_dates=True, **ask) == value


def test_a_trial_run_has_no_others(
    dag: DAG, run: Callable[..., Any], xcoms: dict[tuple[str, str], JsonValue]
) -> None:
    def pull(ti: TaskInstance) -> list[JsonValue]:
        return [
            ti.xcom_pull("land", include_prior_dates=True),
            ti.xcom_pull("land", dag_id="other", default="none"),
            ti.xcom_pull("no", include_prior_dates=True),
        ]

    xcoms["land", "return_value"] = 5

    assert run(PythonOperator(task_id="pull", python_callable=pull)).error is None
    assert xcoms["pull", "return_value"] == [5, "none", None]


def test_a_misspelt_argument_is_told(dag: DAG) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'dagid'"):
        instance(dag).xcom_pull("land", dagid="other")  # type: ignore[call-arg]
