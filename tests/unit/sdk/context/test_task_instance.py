"""What `ti` and `dag_run` tell, and what they say of names that they have not."""

import logging
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from socket import gethostname
from typing import Any

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.interval import DataInterval
from headway.domain.states import RunState, RunType, TaskState
from headway.sdk import DAG, BashOperator, Context, PythonOperator, get_current_context, task
from headway.sdk.context.build import build_context, build_run_context
from headway.sdk.harness.execution import Result
from headway.sdk.running.context import running_in
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.old_names import OldNameWarning
from headway.sdk.running.task_runtime import LocalRuntime, MappedXComs

NOON = datetime(2013, 1, 2, 12, tzinfo=UTC)
DAY = DataInterval(NOON - timedelta(days=1), NOON)
Run = Callable[..., Result]
XComs = dict[tuple[str, str], JsonValue]


def facts(**given: Any) -> RunFacts:
    told: dict[str, Any] = {
        "dag_id": "flights",
        "run_id": "manual__2013-01-01T12:00:00+00:00",
        "task_id": "go",
        "data_interval": DAY,
        "try_number": 2,
    }
    return RunFacts(**{**told, **given})


@pytest.fixture
def go(dag: DAG) -> BashOperator:
    """A task that tells of its options."""
    options: dict[str, Any] = {"retries": 3, "queue": "big", "pool": "wide", "priority_weight": 7}
    made = BashOperator(task_id="go", bash_command="true", **options)
    assert isinstance(made, BashOperator)
    return made


def context_of(go: BashOperator, **given: Any) -> Context:
    return build_context(go, facts(**given), LocalRuntime("go"))


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", OldNameWarning)
        yield


def test_what_an_attempt_tells(go: BashOperator) -> None:
    ti = context_of(go, started_at=NOON)["ti"]

    assert (ti.operator, ti.max_tries, ti.queue, ti.pool) == ("BashOperator", 3, "big", "wide")
    assert (ti.pool_slots, ti.priority_weight, ti.prev_attempted_tries) == (1, 7, 2)
    assert (ti.start_date, ti.end_date, ti.duration) == (NOON, None, None)
    assert ti.hostname == gethostname()
    assert ti.key == ("flights", "go", "manual__2013-01-01T12:00:00+00:00", 2, -1)
    assert (ti.state, ti.current_state(), ti.expanded_ti_count) == (*[TaskState.RUNNING] * 2, None)
    assert isinstance(ti.log, logging.Logger)
    assert ti.get_dagrun() is ti.dag_run


def test_what_an_attempt_tells_that_has_ended(go: BashOperator) -> None:
    ended = NOON + timedelta(seconds=90)
    ti = context_of(go, started_at=NOON, ended_at=ended, hostname="far")["ti"]

    assert (ti.end_date, ti.duration, ti.hostname) == (ended, 90.0, "far")


def test_what_a_run_tells(go: BashOperator) -> None:
    told = {"queued_at": NOON, "start_date": NOON, "run_ended_at": NOON}
    run = context_of(go, **told, run_state=RunState.FAILED)["dag_run"]

    assert (run.queued_at, run.start_date, run.end_date, run.state) == (*[NOON] * 3, "failed")
    assert (run.external_trigger, run.run_type) == (True, RunType.MANUAL)
    assert not context_of(go, run_type=RunType.SCHEDULED)["dag_run"].external_trigger


@pytest.mark.parametrize(
    ("base_url", "beginning"),
    [(None, "http://localhost:8793"), ("https://runs.example/", "https://runs.example")],
)
def test_where_its_pages_are(go: BashOperator, base_url: str | None, beginning: str) -> None:
    ti = context_of(go, base_url=base_url, map_index=3)["ti"]
    place = f"{beginning}/dags/flights/runs/manual__2013-01-01T12:00:00+00:00"

    assert ti.log_url == f"{place}/tasks/go/attempts/2/log?map_index=3"
    assert ti.mark_success_url == f"{place}/mark-success?task=go&map_index=3"


def test_pages_of_names_that_addresses_cannot_hold(go: BashOperator) -> None:
    ti = context_of(go, run_id="a b/c?")["ti"]

    assert ti.log_url.endswith("/dags/flights/runs/a%20b%2Fc%3F/tasks/go/attempts/2/log")


def test_the_context_of_an_attempt(go: BashOperator) -> None:
    context = context_of(go)

    with running_in(context):
        assert context["ti"].get_template_context() is get_current_context() is context


@pytest.mark.parametrize(
    ("owner", "name", "message"),
    [
        ("ti", "get_previous_ti", r"ti has no get_previous_ti: use prev_data_interval_start_succ"),
        ("ti", "refresh_from_db", r"ti has no refresh_from_db: a task has no way to Headway's da"),
        ("ti", "log_ulr", r"ti has no log_ulr; did you mean log_url or log"),
        ("ti", "zzz", r"ti has no zzz; it has current_state, dag_id, "),
        ("dag_run", "get_task_instances", r"dag_run has no get_task_instances: a task has no way"),
        ("dag_run", "start_dat", r"dag_run has no start_dat; did you mean start_date"),
    ],
)
def test_names_that_are_not_there(go: BashOperator, owner: str, name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        getattr(context_of(go)[owner], name)


@pytest.mark.parametrize("owner", ["ti", "dag_run"])
def test_the_old_name_of_the_date_warns(go: BashOperator, owner: str) -> None:
    with pytest.warns(OldNameWarning, match=f"{owner}.execution_date is an old name; use dag_run"):
        assert context_of(go)[owner].execution_date == DAY.start


@pytest.mark.parametrize("name", ["ti", "task_instance", "task"])
def test_a_run_without_a_task_says_so(dag: DAG, name: str) -> None:
    context = build_run_context(dag, facts(task_id=""), LocalRuntime(""))

    assert name not in context
    assert context["expanded_ti_count"] is None
    with pytest.raises(KeyError, match=f"{name}.* is not in the context of a callback of a run of"):
        context[name]


def test_how_many_instances_there_are(
    dag: DAG, run: Run, xcoms: XComs, mapped: MappedXComs
) -> None:
    @task
    def find() -> list[int]:
        return []

    @task
    def count(x: int, y: int, expanded_ti_count: int = 0) -> int:
        return expanded_ti_count

    counted = count.expand(x=find(), y=[1, 2])
    xcoms["find", "return_value"] = [1, 2, 3]

    assert run(counted, 0).error is None
    assert mapped["count", "return_value"] == {0: 6}


def test_templates_know_all_this(dag: DAG, run: Run, xcoms: XComs) -> None:
    template = "{{ ti.max_tries }} {{ ti.operator }} {{ dag.owner }} {{ task.owner }}"
    shown = PythonOperator(
        task_id="show", python_callable=str, op_args=[template], owner="ann", retries=1
    )

    assert run(shown).error is None
    assert xcoms["show", "return_value"] == "1 PythonOperator ann ann"
