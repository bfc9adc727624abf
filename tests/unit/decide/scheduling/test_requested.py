"""Runs that tasks ask for: which requests create none."""

from dataclasses import replace

import pytest

from headway.decide.scheduling.requested import RequestFacts, answered
from headway.domain.dag.run_request import RequestAnswer, RunAnswer, RunWanted

WANTED = RunWanted(dag_id="sales", unless_paused=True)
FACTS = RequestFacts(
    by_dag_id="etl",
    by_run_id="r",
    task_id="go",
    map_index=3,
    attempt=2,
    is_live=True,
    is_there=True,
    is_paused=False,
)


def test_a_run_is_to_be_created() -> None:
    assert answered(WANTED, FACTS) is None
    assert answered(replace(WANTED, unless_paused=False), replace(FACTS, is_paused=True)) is None


def test_the_journal_names_the_instance() -> None:
    assert FACTS.author == {"dag_id": "etl", "run_id": "r", "task": "go[3]", "attempt": 2}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"is_live": False, "taken_over": "r1"}, "was not running any more"),
        ({"is_there": False}, "There is no DAG 'sales' in the bundle of DAG 'etl'"),
        ({"is_paused": True}, "DAG 'sales' is paused"),
    ],
)
def test_a_request_is_refused(change: dict[str, object], reason: str) -> None:
    found = answered(WANTED, replace(FACTS, **change))  # type: ignore[arg-type]

    assert found is not None
    assert found.answer is RequestAnswer.REFUSED
    assert reason in str(found.reason)


def test_what_was_created_is_taken_over_however_the_dag_stands_now() -> None:
    facts = replace(FACTS, taken_over="r1", is_paused=True, is_there=False)

    assert answered(WANTED, facts) == RunAnswer(RequestAnswer.CREATED, "r1")
