"""`notify=` of a DAG and of a task: what is taken, what is refused, and whose events it is."""

from typing import Any

import pytest

from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.notifiers import (
    FIRST_WAIT,
    LONGEST_WAIT,
    MOST_SENDS,
    NotifierSpec,
    NotifyEvent,
    wait_after,
)
from headway.domain.errors import DagError
from headway.sdk import DAG, EmptyOperator, Notifier
from headway.sdk.harness.specification import to_spec
from headway.serialization import codec

FAILURE, SUCCESS, RETRY = NotifyEvent.FAILURE, NotifyEvent.SUCCESS, NotifyEvent.RETRY


def test_a_notifier_tells_of_failures_and_missed_deadlines_unless_it_says_otherwise() -> None:
    assert Notifier("ops").spec.on == (FAILURE, NotifyEvent.MISSED_DEADLINE)
    assert Notifier("ops", on="success").spec.on == (SUCCESS,)


def test_what_a_dag_tells_of_its_tasks_is_in_those() -> None:
    of_all = Notifier("ops", on=["failure", "task_failure", "task_retry"], to="a@b.c")
    with DAG("flights", notify=of_all) as dag:
        EmptyOperator(task_id="land", notify=[Notifier("crew", on="success")])
        EmptyOperator(task_id="taxi")
    spec = to_spec(dag, "flights.py")

    ours = NotifierSpec(connection="ops", on=(FAILURE, RETRY), to=("a@b.c",))
    assert spec.notifiers == (of_all.spec,)
    assert spec.notifies == (CallbackEvent.FAILURE,)
    assert {task.task_id: task.notifiers for task in spec.tasks} == {
        "land": (NotifierSpec(connection="crew", on=(SUCCESS,)), ours),
        "taxi": (ours,),
    }
    assert spec.task("taxi").notifies == (CallbackEvent.FAILURE, CallbackEvent.RETRY)
    assert codec.decode(codec.encode(spec)) == spec


def test_notifiers_of_a_bundle_come_to_those_of_the_dag_once() -> None:
    own = Notifier("ops", on=["failure", "task_failure"])
    with DAG("flights", notify=own) as dag:
        EmptyOperator(task_id="land")
    spec = to_spec(dag, "flights.py")
    other = Notifier("all", on="failure").spec

    assert spec.notifying((own.spec,)) == spec
    assert spec.notifying((other,)).notifiers == (own.spec, other)
    assert spec.notifying((other,)).tasks == spec.tasks


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Notifier("no/such name?\0"), "Notifier: "),
        (lambda: Notifier("ops", on="sometimes"), "on must be one of failure, success, retry"),
        (lambda: Notifier("ops", on=[]), "on names no event; name one of failure"),
        (lambda: Notifier("ops", body="{{ nothing"), "body is no template"),
        (lambda: Notifier("ops", subject=3), "subject must be a string"),  # type: ignore[arg-type]
        (lambda: DAG("d", notify="ops"), r"DAG 'd': notify must be Notifier\("),  # type: ignore[arg-type]
        (lambda: DAG("d", notify=Notifier("o", on="retry")), "say task_retry"),
        (
            lambda: EmptyOperator(task_id="t", notify=Notifier("o", on="task_failure")),
            "task_failure is for a DAG; of a task it is failure",
        ),
    ],
)
def test_what_is_no_notifier_is_refused(make: Any, said: str) -> None:
    with pytest.raises(DagError, match=said):
        make()


def test_waits_grow_up_to_the_longest() -> None:
    waits = [wait_after(tries) for tries in range(1, MOST_SENDS + 1)]

    assert waits[:3] == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_WAIT
