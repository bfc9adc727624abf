"""Tasks that trigger another DAG, run by the real services."""

import pytest

from headway.db.reads import event_views
from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def chain(stack: Stack) -> StackRun:
    return stack.run("chain")


def test_a_task_waits_for_the_run_that_it_has_triggered(stack: Stack, chain: StackRun) -> None:
    assert chain.states()["go"] == "success"
    assert chain.xcom("go", "trigger_run_id") == chain.run_id
    assert chain.xcom("read") == 7
    with stack.engine.connect() as conn:
        event = event_views.events(conn, "target", chain.run_id)[-1]
    assert event.action == "run.trigger"
    assert event.details["by_task"] == {
        "dag_id": "chain",
        "run_id": chain.run_id,
        "task": "go",
        "attempt": 1,
    }


def test_each_instance_of_a_mapped_task_triggers_a_run(stack: Stack, chain: StackRun) -> None:
    names = {run.run_id for run in stack.runs("target") if run.row.conf.get("n") in (1, 2, 3)}

    assert len(names) == 3


def test_a_task_fails_with_the_run_that_it_waits_for(chain: StackRun) -> None:
    assert chain.states()["fails"] == "failed"
    assert "is failed, which is one of failed_states" in str(chain.attempts("fails")[-1].error)


def test_a_dag_that_is_not_there_is_told(chain: StackRun) -> None:
    error = str(chain.attempts("nobody")[-1].error)

    assert "There is no DAG 'none' in the bundle of DAG 'chain'" in error


def test_a_run_is_reset(stack: Stack) -> None:
    for attempts in (1, 2):
        run = stack.run("repeat")
        assert run.states() == {"again": "success", "skips": "skipped"}
        assert len(StackRun(stack, "target", "one and the same").attempts("work")) == attempts
