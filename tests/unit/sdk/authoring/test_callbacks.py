"""The functions of a DAG file: how they are given, and how they are called."""

import sys
from typing import Any, Unpack

import pytest

from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk import DAG, BashOperator, EmptyOperator, PythonOperator, task
from headway.sdk.authoring.callbacks import Callback, call
from headway.sdk.authoring.task_options import TaskOptions
from headway.sdk.harness.execution import execute
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.context import Context
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime
from headway.serialization import codec
from headway.testing.data.seed import info

FACTS = RunFacts(dag_id="d", run_id="r", task_id="t", data_interval=info(0).data_interval)
CONTEXT = Context({"run_id": "r"}, LocalRuntime("t"))


class Notifier:
    """Something that can be called, as those of providers are."""

    def __call__(self, context: Any) -> None: ...


def one(_context: Any) -> None: ...
def two(_context: Any) -> None: ...


def made(**options: Unpack[TaskOptions]) -> EmptyOperator:
    operator: EmptyOperator = EmptyOperator(task_id="t", **options)
    return operator


def test_a_task_has_functions_for_events_and_its_specification_has_the_events() -> None:
    notifier = Notifier()
    operator = made(
        on_failure_callback=[one, two], on_success_callback=notifier, on_retry_callback=None
    )

    assert operator.calls_on == {
        CallbackEvent.FAILURE: (one, two),
        CallbackEvent.SUCCESS: (notifier,),
    }
    assert operator.spec.callbacks == (CallbackEvent.FAILURE, CallbackEvent.SUCCESS)
    assert made(on_failure_callback=[]).spec == made().spec


def test_functions_come_from_default_args_and_a_task_may_have_others_or_none() -> None:
    with DAG("d", default_args={"on_failure_callback": one, "on_execute_callback": two}) as dag:
        as_given = EmptyOperator(task_id="as_given")
        other = EmptyOperator(task_id="other", on_failure_callback=two)
        none = EmptyOperator(task_id="none", on_failure_callback=None)
        mapped = BashOperator.partial(task_id="mapped").expand(bash_command=["a", "b"])

        @task(on_skipped_callback=two)
        def decorated(it: int) -> int:
            return it

        decorated.expand(it=[1, 2])

    events = {spec.task_id: spec.callbacks for spec in to_spec(dag, "d.py").tasks}
    assert as_given.calls_on == mapped.calls_on == {CallbackEvent.FAILURE: (one,)}
    assert as_given.calls_first == (two,)
    assert other.calls_on == {CallbackEvent.FAILURE: (two,)}
    assert none.calls_on == {}
    assert events["decorated"] == (CallbackEvent.FAILURE, CallbackEvent.SKIPPED)
    assert dag.spec.callbacks == ()


def test_a_dag_has_functions_for_its_runs() -> None:
    dag = DAG("d", on_success_callback=one, on_failure_callback=(one, two))
    spec = to_spec(dag, "d.py")

    assert dag.calls_on == {CallbackEvent.SUCCESS: (one,), CallbackEvent.FAILURE: (one, two)}
    assert spec.callbacks == (CallbackEvent.FAILURE, CallbackEvent.SUCCESS)
    assert codec.decode(codec.encode(spec)) == spec


async def later(_context: Any) -> None: ...


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "on_failure_callback must be a function of the context, or a list of such, not 3"),
        ([one, "two"], "on_failure_callback must be a function of the context"),
        ({"one": one}, "on_failure_callback must be a function of the context"),
        (later, "on_failure_callback is a coroutine function, which nobody would await; use def"),
    ],
)
def test_what_cannot_be_called_is_refused(given: Any, message: str) -> None:
    with pytest.raises(DagError, match=message):
        made(on_failure_callback=given)
    with pytest.raises(DagError, match=message):
        DAG("d", on_failure_callback=given)


@pytest.mark.parametrize("name", ["on_retry_callback", "on_execute_callback", "sla_miss_callback"])
def test_a_dag_has_no_functions_for_what_happens_to_tasks(name: str) -> None:
    given: Any = {name: one}
    with pytest.raises(DagError, match=f"does not know the argument '{name}'"):
        DAG("d", **given)


def test_each_is_called_whatever_becomes_of_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    called: list[str] = []

    def note(context: Any) -> None:
        called.append(context["run_id"])

    def fail(_context: Any) -> None:
        raise KeyError("lost")

    def leave(_context: Any) -> None:
        sys.exit(3)

    given: list[Callback] = [note, fail, leave, note]
    problems = call(given, CONTEXT)

    where = "test_each_is_called_whatever_becomes_of_the_others.<locals>"
    assert called == ["r", "r"]
    assert problems == [f"{where}.fail: KeyError: 'lost'", f"{where}.leave: SystemExit: 3"]
    assert ", in fail" in capsys.readouterr().out


def test_what_is_called_first_sees_the_task_and_keeps_it_from_nothing() -> None:
    seen: list[object] = []

    def look(context: Any) -> None:
        seen.append((context["ti"].task_id, str(context["ti"].state)))
        raise RuntimeError("no matter")

    operator = PythonOperator(
        task_id="t", python_callable=lambda: seen.append("worked"), on_execute_callback=look
    )
    result = execute(operator, FACTS, LocalRuntime("t"))

    assert result.outcome is Outcome.SUCCESS
    assert seen == [("t", "running"), "worked"]
