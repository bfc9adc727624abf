"""`deadline=` of a DAG and `sla=` of a task: what is taken, and what is refused with a sentence."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headway.domain.dag.deadline import DeadlineMoment as Moment
from headway.domain.dag.deadline import DeadlineSpec
from headway.domain.errors import DagError
from headway.sdk import DAG, DeadlineAlert, DeadlineReference, EmptyOperator
from headway.sdk.harness.specification import to_spec

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
HOUR = timedelta(hours=1)
AN_HOUR_AFTER_DUE = DeadlineSpec(seconds=3600.0)


def of_dag(deadline: Any) -> tuple[DeadlineSpec, ...]:
    return DAG("flights", deadline=deadline).spec.deadlines


@pytest.mark.parametrize(
    ("given", "expected", "name"),
    [
        (HOUR, AN_HOUR_AFTER_DUE, "1:00:00 after due"),
        (3600, AN_HOUR_AFTER_DUE, "1:00:00 after due"),
        (DeadlineAlert(interval=HOUR), AN_HOUR_AFTER_DUE, "1:00:00 after due"),
        (
            DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, 90, backfills=True),
            DeadlineSpec(reference=Moment.QUEUED, seconds=90.0, backfills=True),
            "0:01:30 after queued",
        ),
        (
            DeadlineAlert(DeadlineReference.START, timedelta(days=2)),
            DeadlineSpec(reference=Moment.START, seconds=172800.0),
            "2 days, 0:00:00 after start",
        ),
        (
            DeadlineAlert(DeadlineReference.FIXED_DATETIME(NOON)),
            DeadlineSpec(reference=Moment.FIXED, at=NOON),
            "at 2030-01-01T12:00:00+00:00",
        ),
    ],
)
def test_a_deadline_is_counted_from_a_moment_or_a_date(
    given: Any, expected: DeadlineSpec, name: str
) -> None:
    assert of_dag(given) == (expected,)
    assert expected.name == name


def test_a_dag_has_several_deadlines_and_its_tasks_have_slas() -> None:
    later = DeadlineAlert(DeadlineReference.START, HOUR)
    with DAG("flights", deadline=[HOUR, later], default_args={"sla": HOUR}) as dag:
        EmptyOperator(task_id="land")
        EmptyOperator(task_id="taxi", sla=None)
    spec = to_spec(dag, "flights.py")

    assert spec.deadlines == (AN_HOUR_AFTER_DUE, later.spec)
    assert [task.slas for task in spec.tasks] == [(AN_HOUR_AFTER_DUE,), ()]
    assert spec.has_deadlines()
    assert not spec.has_deadlines(backfill=True)
    of_backfills = replace(later.spec, backfills=True)
    assert replace(spec, deadlines=(of_backfills,)).has_deadlines(backfill=True)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: of_dag("1h"), "DAG 'flights': deadline must be a timedelta"),
        (lambda: of_dag(True), "DAG 'flights': deadline must be a timedelta"),
        (lambda: of_dag(0), "longer than 0 seconds"),
        (lambda: of_dag(-HOUR), "not negative"),
        (lambda: of_dag([HOUR, 3600]), "two deadlines of 1:00:00 after due; leave one out"),
        (lambda: EmptyOperator(task_id="a", sla="soon"), "sla must be a timedelta"),  # type: ignore[arg-type]
        (lambda: DAG("d", default_args={"deadline": HOUR}), "pass deadline= to the DAG itself"),
        (lambda: DeadlineAlert(interval=0), "interval must be longer than 0 seconds"),
        (lambda: of_dag(timedelta.max), "deadline must be at most 3,653 days .ten years., not 99"),
        (lambda: EmptyOperator(task_id="a", sla=1e12), "sla must be at most 3,653 days"),
        (
            lambda: DeadlineAlert(DeadlineReference.START, timedelta(days=3654)),
            "DeadlineAlert: interval must be at most 3,653 days",
        ),
        (
            lambda: DeadlineAlert(DeadlineReference.FIXED_DATETIME(LATEST), HOUR),
            "DeadlineAlert is after the year 9999; take an earlier date",
        ),
        (lambda: DeadlineAlert("due", HOUR), "reference must be DeadlineReference.DUE"),  # type: ignore[arg-type]
        (lambda: DeadlineAlert(Moment.FIXED, HOUR), "reference must be DeadlineReference.DUE"),
        (
            lambda: DeadlineAlert(DeadlineReference.DAGRUN_LOGICAL_DATE, HOUR),  # type: ignore[arg-type]
            "use DeadlineReference.DUE",
        ),
        (
            lambda: DeadlineReference.AVERAGE_RUNTIME(max_runs=10),
            "is not supported: .* Use DeadlineReference.START",
        ),
        (lambda: DeadlineReference.FIXED_DATETIME(datetime(2030, 1, 1)), "no time zone"),  # noqa: DTZ001
    ],
)
def test_what_is_no_deadline_is_refused(make: Any, said: str) -> None:
    with pytest.raises(DagError, match=said):
        make()
