"""A retry policy decides whether a task is tried again, and after which time."""

import json
from datetime import timedelta
from typing import Any

import pytest

from headway.domain.errors import DagError
from headway.sdk import (
    DAG,
    ExceptionRetryPolicy,
    PythonOperator,
    RetryAction,
    RetryDecision,
    RetryPolicy,
    RetryRule,
)
from headway.sdk.exceptions import AirflowFailException
from headway.sdk.harness.execution import Result, execute
from headway.sdk.running.context import Context
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime
from headway.testing.data.seed import info

SOON = timedelta(seconds=3)
RULES = ExceptionRetryPolicy(
    [
        RetryRule("json.JSONDecodeError", retry_delay=SOON),
        RetryRule([ValueError, LookupError], RetryAction.FAIL),
        RetryRule(OSError, RetryAction.DEFAULT),
    ]
)


class Own(RetryPolicy):
    def __init__(self, decision: object) -> None:
        self.decision = decision
        self.asked: list[tuple[str, int, int, str | None]] = []

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,
        max_tries: int,
        context: Context | None = None,
    ) -> RetryDecision:
        task_id = context["ti"].task_id if context else None
        self.asked.append((str(exception), try_number, max_tries, task_id))
        if isinstance(self.decision, Exception):
            raise self.decision
        return self.decision  # type: ignore[return-value]


def end_of(error: BaseException, policy: RetryPolicy, **options: Any) -> Result:
    """Run a task that raises an error, in its second attempt."""

    def work() -> None:
        raise error

    with DAG("d"):
        task = PythonOperator(
            task_id="t", python_callable=work, retries=4, retry_policy=policy, **options
        )
    facts = RunFacts(
        dag_id="d", run_id="r", task_id="t", data_interval=info(0).data_interval, try_number=2
    )
    return execute(task, facts, LocalRuntime("t"))


@pytest.mark.parametrize(
    ("error", "again", "delay"),
    [
        (json.JSONDecodeError("no", "", 0), True, 3.0),
        (ValueError("no"), False, None),
        (KeyError("no"), False, None),
        (ConnectionResetError("gone"), True, None),
        (TypeError("no"), True, None),
    ],
)
def test_the_first_rule_that_matches_decides(
    error: Exception, again: bool, delay: float | None
) -> None:
    result = end_of(error, RULES)

    assert (result.may_retry, result.retry_delay) == (again, delay)


def test_without_a_rule_the_default_of_the_policy_decides() -> None:
    assert not end_of(TypeError("no"), ExceptionRetryPolicy([], RetryAction.FAIL)).may_retry
    assert end_of(TypeError("no"), ExceptionRetryPolicy([]), fail_fast_on=KeyError).may_retry
    assert not end_of(KeyError("no"), ExceptionRetryPolicy([]), fail_fast_on=KeyError).may_retry


def test_a_policy_counts_before_retry_on_and_fail_fast_on() -> None:
    policy = ExceptionRetryPolicy([RetryRule(KeyError)])

    assert end_of(KeyError("no"), policy, retry_on=OSError, fail_fast_on=KeyError).may_retry


def test_a_subclass_counts_unless_the_rule_says_otherwise() -> None:
    exact = RetryRule(LookupError, match_subclasses=False)

    assert exact.matches(LookupError())
    assert not exact.matches(KeyError())
    assert RetryRule(LookupError).matches(KeyError())


def test_a_policy_of_ones_own_gets_error_tries_and_context(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    policy = Own(RetryDecision.retry(SOON, "the server is busy"))

    result = end_of(KeyError("x"), policy)

    assert policy.asked == [("'x'", 2, 4, "t")]
    assert (result.may_retry, result.retry_delay) == (True, 3.0)
    assert "The retry policy says retry: the server is busy" in caplog.text


@pytest.mark.parametrize("decision", [RuntimeError("bad"), None, RetryDecision(retry_delay=-SOON)])
def test_a_policy_that_fails_counts_as_none(
    decision: object, caplog: pytest.LogCaptureFixture
) -> None:
    result = end_of(ValueError("x"), Own(decision), fail_fast_on=ValueError)

    assert (result.may_retry, result.retry_delay) == (False, None)
    assert "The retry policy has failed; the task's other arguments decide." in caplog.text


def test_a_policy_is_not_asked_about_a_failure_for_good() -> None:
    policy = Own(RetryDecision.retry())

    assert not end_of(AirflowFailException("for good"), policy).may_retry
    assert policy.asked == []


@pytest.mark.parametrize("value", [object(), RetryAction.FAIL, [RetryRule(KeyError)]])
def test_what_is_no_policy_is_refused(value: Any) -> None:
    with pytest.raises(DagError, match=r"'t'.*retry_policy must be a RetryPolicy"), DAG("d"):
        PythonOperator(task_id="t", python_callable=print, retry_policy=value)


def test_a_rule_names_exceptions() -> None:
    with pytest.raises(DagError, match="RetryRule: exception must be exception classes"):
        RetryRule(3)  # type: ignore[arg-type]
