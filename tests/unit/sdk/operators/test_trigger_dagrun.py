"""TriggerDagRunOperator: what it asks for, what it makes of the answer, and how it waits."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headway.domain.dag.run_request import RequestAnswer, RunAnswer, RunWanted
from headway.domain.errors import DagError
from headway.domain.interval import DataInterval
from headway.domain.states import Outcome, RunState
from headway.sdk import DAG, TriggerDagRunOperator
from headway.sdk.harness.execution import Result, execute
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime, RunName

DAY = datetime(2024, 1, 1, tzinfo=UTC)
CREATED = RunAnswer(RequestAnswer.CREATED, "r1")
FACTS = RunFacts(
    dag_id="etl",
    run_id="own",
    task_id="go",
    data_interval=DataInterval(DAY, DAY + timedelta(days=1)),
    logical_date=DAY,
    conf={"target": "sales", "wait": True},
)


@dataclass(frozen=True, slots=True)
class Other(LocalRuntime):
    """A runtime in which runs are created as a scheduler answers, and then have these states."""

    answer: RunAnswer = CREATED
    states: list[RunState | None] = field(default_factory=list)
    asked: list[RunWanted] = field(default_factory=list)
    looked: list[RunName] = field(default_factory=list)

    def trigger_run(self, wanted: RunWanted) -> RunAnswer:  # type: ignore[override]
        self.asked.append(wanted)
        return self.answer

    def run_state(self, of: RunName) -> RunState | None:  # type: ignore[override]
        self.looked.append(of)
        return self.states.pop(0)


def run(runtime: LocalRuntime, **arguments: Any) -> Result:
    given = {"trigger_dag_id": "sales", "poke_interval": 0.001, **arguments}
    return execute(TriggerDagRunOperator(task_id="go", **given), FACTS, runtime)


def test_a_run_is_asked_for_and_its_id_is_an_xcom() -> None:
    runtime = Other("go")

    result = run(
        runtime,
        trigger_dag_id="{{ dag_run.conf['target'] }}",
        trigger_run_id="{{ run_id }}-sales",
        conf={"day": "{{ ds }}", "n": 1},
        logical_date="{{ logical_date }}",
        reset_dag_run=True,
        fail_when_dag_is_paused=True,
        wait_for_completion=False,
        note="nightly",
    )

    assert result.outcome is Outcome.SUCCESS, result.error
    assert runtime.asked == [
        RunWanted(
            dag_id="sales",
            run_id="own-sales",
            logical_date=DAY,
            conf={"day": "2024-01-01", "n": 1},
            reset=True,
            unless_paused=True,
            waits=False,
            note="nightly",
        )
    ]
    assert runtime.xcoms == {("go", "trigger_run_id"): "r1"}
    assert runtime.looked == []


def test_no_more_is_asked_for_than_was_said() -> None:
    runtime = Other("go")

    run(runtime)

    assert runtime.asked == [RunWanted(dag_id="sales")]


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("2024-01-01", DAY),
        ("2024-01-01T01:00:00+01:00", DAY),
        (DAY.replace(tzinfo=None), DAY),
        ("{{ ds }}", DAY),
        (None, None),
    ],
)
def test_a_date_without_a_zone_is_in_utc(date: object, expected: datetime | None) -> None:
    runtime = Other("go")

    assert run(runtime, logical_date=date).outcome is Outcome.SUCCESS

    assert runtime.asked[0].logical_date == expected


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"logical_date": "{{ run_id }}"}, "logical_date must be a date like"),
        ({"conf": "{{ run_id }}"}, "conf must be JSON, not 'own'"),
        ({"conf": "[1]"}, "conf must be a dictionary"),
        ({"conf": {"a": {1, 2}}}, "which is not JSON"),
        ({"wait_for_completion": "{{ run_id }}"}, "wait_for_completion must be True or False"),
        ({"trigger_dag_id": "{{ 'a b' }}"}, "The DAG id 'a b' may hold only"),
        ({"trigger_run_id": "{{ 'a/b' }}"}, "no slash"),
    ],
)
def test_what_renders_to_something_else_fails_the_task(
    arguments: dict[str, Any], error: str
) -> None:
    runtime = Other("go")

    result = run(runtime, **arguments)

    assert error in str(result.error)
    assert result.outcome is Outcome.FAILED
    assert runtime.asked == []


def test_a_conf_may_be_json_text() -> None:
    runtime = Other("go")

    run(runtime, conf='{"a": [1]}')

    assert runtime.asked[0].conf == {"a": [1]}


@pytest.mark.parametrize(
    ("answer", "skips", "outcome", "error", "again"),
    [
        (RequestAnswer.RESET, False, Outcome.SUCCESS, None, True),
        (RequestAnswer.EXISTS, False, Outcome.FAILED, "There is a run r1 of DAG sales", False),
        (RequestAnswer.EXISTS, True, Outcome.SKIPPED, "There is a run r1 of DAG sales", True),
        (RequestAnswer.EXISTS, "{{ 'True' }}", Outcome.SKIPPED, "There is a run r1", True),
        (RequestAnswer.REFUSED, True, Outcome.FAILED, "because", True),
    ],
)
def test_the_answer_decides_how_the_task_ends(
    answer: RequestAnswer, *, skips: bool | str, outcome: Outcome, error: str | None, again: bool
) -> None:
    runtime = Other("go", answer=RunAnswer(answer, "r1", "because"))

    result = run(runtime, skip_when_already_exists=skips)

    assert (result.outcome, result.may_retry) == (outcome, again)
    assert (error or "") in (result.error or "")
    assert bool(runtime.xcoms) is (outcome is Outcome.SUCCESS)


@pytest.mark.parametrize(
    ("states", "outcome", "error"),
    [
        (["queued", "running", "success"], Outcome.SUCCESS, None),
        (["running", "failed"], Outcome.FAILED, "run r1 of DAG sales is failed"),
        (["running", None], Outcome.FAILED, "run r1 of DAG sales has been deleted"),
    ],
)
@pytest.mark.parametrize("waits", [True, "{{ params.wait }}"])
def test_a_task_waits_for_the_end_of_the_run(
    states: list[str | None], outcome: Outcome, error: str | None, waits: bool | str
) -> None:
    found = [None if state is None else RunState(state) for state in states]
    runtime = Other("go", states=list(found))

    result = run(runtime, wait_for_completion=waits)

    assert result.outcome is outcome, result.error
    assert (error or "") in (result.error or "")
    assert runtime.asked[0].waits
    assert runtime.looked == [RunName("sales", "r1")] * len(found)


@pytest.mark.parametrize(
    ("arguments", "states", "outcome"),
    [
        ({"allowed_states": ["success", "failed"], "failed_states": []}, "failed", "success"),
        ({"failed_states": [RunState.SUCCESS]}, "success", "failed"),
        ({"allowed_states": ["running"]}, "queued running", "success"),
        ({"failed_states": []}, "failed queued success", "success"),
    ],
)
def test_the_states_that_are_waited_for(
    arguments: dict[str, Any], states: str, outcome: str
) -> None:
    runtime = Other("go", states=[RunState(state) for state in states.split()])

    assert run(runtime, wait_for_completion=True, **arguments).outcome == outcome
    assert runtime.states == []


def test_a_test_says_what_would_be_triggered(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING")
    runtime = LocalRuntime("go")

    result = run(runtime, conf={"a": 1}, logical_date=DAY, wait_for_completion=True)

    assert result.outcome is Outcome.SUCCESS, result.error
    run_id = f"manual__{DAY.isoformat()}"
    assert f'DAG sales would get run {run_id} with conf {{"a": 1}}' in caplog.text
    assert runtime.xcoms == {("go", "trigger_run_id"): run_id}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"deferrable": True}, "deferrable=True is not there yet; leave it out"),
        ({"run_after": DAY}, "pass logical_date= in place of run_after"),
        ({"trigger_dag_id": "a b"}, "The DAG id 'a b' may hold only"),
        ({"trigger_dag_id": None}, "trigger_dag_id must be the id of a DAG, not None"),
        ({"conf": 1}, "conf must be a dictionary"),
        ({"logical_date": 1}, "logical_date must be a datetime"),
        ({"poke_interval": 0}, "poke_interval must be longer than 0 seconds"),
        ({"allowed_states": "success"}, "allowed_states must be a list of states"),
        ({"failed_states": ["skipped"]}, "failed_states must be one of queued, running"),
        ({"reset_dag_run": "yes"}, "reset_dag_run must be True or False"),
        ({"wait_for_completion": 1}, "wait_for_completion must be True or False"),
        ({"note": 1}, "note must be a string"),
        ({"reset_dagrun": True}, "did you mean reset_dag_run"),
    ],
)
def test_what_is_not_accepted_is_refused_with_the_place(
    arguments: dict[str, Any], error: str
) -> None:
    with DAG("etl"), pytest.raises(DagError) as caught:
        TriggerDagRunOperator(task_id="go", **{"trigger_dag_id": "sales", **arguments})

    assert error in str(caught.value)
    assert str(caught.value).startswith("DAG 'etl', task 'go': ")


def test_its_arguments_are_data() -> None:
    with DAG("etl") as dag:
        TriggerDagRunOperator.partial(task_id="each", trigger_dag_id="sales").expand(
            conf=[{"a": 1}, {"a": 2}]
        )
        TriggerDagRunOperator(task_id="go", trigger_dag_id="sales", conf={"at": DAY.isoformat()})

    each, go = to_spec(dag, "etl.py").tasks

    assert (each.operator, go.operator) == ("trigger_dagrun", "trigger_dagrun")
    assert go.arguments == {"trigger_dag_id": "sales", "conf": {"at": DAY.isoformat()}}
    assert each.mapped_over[0].length == 2
