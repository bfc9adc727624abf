"""@task.run_if and @task.skip_if: whether a task does its work at all."""

from collections.abc import Callable
from typing import Any

import pytest

from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk import DAG, Context, task
from headway.sdk.harness.execution import Result

Run = Callable[..., Result]
XComs = dict[tuple[str, str], Any]


def is_united(context: Context) -> bool:
    return bool(context["params"]["carrier"] == "UA")


@pytest.mark.parametrize(("carrier", "outcome"), [("UA", "success"), ("AA", "skipped")])
def test_a_task_runs_if_its_condition_holds(
    dag: DAG, run: Run, xcoms: XComs, carrier: str, outcome: str
) -> None:
    @task.run_if(is_united)
    @task
    def count() -> int:
        return 3

    result = run(count(), conf={"carrier": carrier})

    assert result.outcome == outcome
    assert (("count", "return_value") in xcoms) is (outcome == "success")


@pytest.mark.parametrize(("carrier", "outcome"), [("UA", "skipped"), ("AA", "success")])
def test_a_task_is_skipped_if_its_condition_holds(
    dag: DAG, run: Run, carrier: str, outcome: str
) -> None:
    @task.skip_if(is_united)
    @task.bash
    def count() -> str:
        return "true"

    assert run(count(), conf={"carrier": carrier}).outcome == outcome


def test_the_message_is_that_of_the_condition_before_that_of_the_decorator(
    dag: DAG, run: Run
) -> None:
    def say(message: str | None) -> Callable[[Context], tuple[bool, str | None]]:
        return lambda _context: (True, message)

    @task
    def work() -> None: ...

    own = task.skip_if(say("its own"), "the decorator's")(work)
    decorators = task.skip_if(say(None), skip_message="the decorator's")(work)
    neither = task.run_if(lambda _context: False)(work)

    assert [str(run(made()).error) for made in (own, decorators, neither)] == [
        "its own",
        "the decorator's",
        "The task is skipped by its condition.",
    ]


def test_all_conditions_must_let_the_task_run(dag: DAG, run: Run) -> None:
    @task.run_if(is_united)
    @task.skip_if(lambda context: context["params"]["limit"] > 5)
    @task
    def work() -> None: ...

    made = work()
    found = [
        run(made, conf={"carrier": carrier, "limit": limit}).outcome
        for carrier, limit in [("UA", 3), ("UA", 6), ("AA", 3)]
    ]

    assert found == [Outcome.SUCCESS, Outcome.SKIPPED, Outcome.SKIPPED]


def test_each_instance_of_a_mapped_task_is_asked(dag: DAG, run: Run) -> None:
    @task.run_if(lambda context: context["map_index"] == 1)
    @task
    def work(x: int) -> None: ...

    made = work.override(retries=2).expand(x=[1, 2])

    assert [run(made, index).outcome for index in (0, 1)] == [Outcome.SKIPPED, Outcome.SUCCESS]
    assert made.operator.spec.retries == 2


def test_a_condition_that_fails_fails_the_task(dag: DAG, run: Run) -> None:
    @task.run_if(lambda context: context["nothing"])
    @task
    def work() -> None: ...

    result = run(work())

    assert (result.outcome, result.error) == (Outcome.FAILED, "KeyError: 'nothing'")


def test_a_condition_stands_above_the_decorator_of_a_task() -> None:
    def work() -> None: ...

    with pytest.raises(DagError, match=r"@task\.run_if decorates what @task has decorated"):
        task.run_if(is_united)(work)  # type: ignore[type-var]
    with pytest.raises(DagError, match="A condition must be a function of the context, not 'no'"):
        task.skip_if("no")  # type: ignore[arg-type]
