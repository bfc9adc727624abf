"""A retry policy: code of the DAG file that decides whether a failed task is tried again, and when.

The policy is asked in the task's own process, with the exception that the task has raised.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from headway.domain.dag.spec import TaskSpec
from headway.sdk.values import checks
from headway.sdk.values.retrying import exception_names, is_among, may_retry

if TYPE_CHECKING:
    from headway.sdk.running.context import Context

_LOG: Final = logging.getLogger(__name__)

Exceptions: TypeAlias = type[BaseException] | str | Sequence[type[BaseException] | str]


class RetryAction(Enum):
    """What follows a failure: another attempt, none, or what the other arguments say."""

    RETRY = "retry"
    FAIL = "fail"
    DEFAULT = "default"


@dataclass(frozen=True)
class RetryDecision:
    """What a policy answers.

    `retry_delay` replaces the task's own for this retry.  `reason` is written to the task's log.
    """

    action: RetryAction = RetryAction.DEFAULT
    retry_delay: timedelta | None = None
    reason: str | None = None

    @classmethod
    def retry(cls, delay: timedelta | None = None, reason: str | None = None) -> "RetryDecision":
        """Return the decision for another attempt, if `retries` are left."""
        return cls(RetryAction.RETRY, delay, reason)

    @classmethod
    def fail(cls, reason: str | None = None) -> "RetryDecision":
        """Return the decision against another attempt."""
        return cls(RetryAction.FAIL, reason=reason)

    @classmethod
    def default(cls) -> "RetryDecision":
        """Return the decision for what the task's other arguments say."""
        return cls()


class RetryPolicy(ABC):
    """Decides what follows a failure of a task; the task's `retries` stay the limit."""

    @abstractmethod
    def evaluate(
        self,
        exception: BaseException,
        try_number: int,
        max_tries: int,
        context: "Context | None" = None,
    ) -> RetryDecision:
        """Return what follows an exception.

        `try_number` counts attempts from 1 and `max_tries` is the task's `retries`.  `context`
        is None if the attempt has failed before it had one.
        """


@dataclass(frozen=True)
class RetryRule:
    """What follows certain exceptions: classes, or their full names, in a list or one alone.

    With `match_subclasses=False` a subclass of a named exception does not count.
    """

    exception: Exceptions
    action: RetryAction = RetryAction.RETRY
    retry_delay: timedelta | None = None
    reason: str | None = None
    match_subclasses: bool = True

    def __post_init__(self) -> None:
        """Refuse what names no exception."""
        exception_names(self.exception, "RetryRule: exception")

    def matches(self, exception: BaseException) -> bool:
        """Return whether the rule is about that exception."""
        names = exception_names(self.exception, "RetryRule: exception")
        return is_among(type(exception), names, with_bases=self.match_subclasses)


class ExceptionRetryPolicy(RetryPolicy):
    """A policy of rules: the first one that matches decides, else `default`."""

    def __init__(
        self, rules: Sequence[RetryRule], default: RetryAction = RetryAction.DEFAULT
    ) -> None:
        self.rules = list(rules)
        self.default = default

    def evaluate(
        self,
        exception: BaseException,
        try_number: int,  # noqa: ARG002 - as every policy takes it
        max_tries: int,  # noqa: ARG002
        context: "Context | None" = None,  # noqa: ARG002
    ) -> RetryDecision:
        """Return what the first rule that matches says."""
        for rule in self.rules:
            if rule.matches(exception):
                return RetryDecision(rule.action, rule.retry_delay, rule.reason)
        return RetryDecision(self.default)


def retry_policy_in(options: Mapping[str, object]) -> RetryPolicy | None:
    """Return the policy among a task's arguments; DagError for what is none."""
    value = options.get("retry_policy")
    if value is not None and not isinstance(value, RetryPolicy):
        checks.refuse("retry_policy", "a RetryPolicy, such as ExceptionRetryPolicy([…])", value)
    return value


def decide_retry(
    task: TaskSpec,
    policy: RetryPolicy | None,
    error: BaseException,
    try_number: int,
    context: "Context | None",
) -> tuple[bool, float | None]:
    """Return whether an attempt that raised `error` may be followed, and after how many seconds.

    None stands for the task's own delay.  A policy that fails itself counts as none.
    """
    standard = may_retry(task, type(error))
    if policy is None:
        return standard, None
    try:
        decision = policy.evaluate(error, try_number, task.retries, context)
        delay = decision.retry_delay
        seconds = None if delay is None else checks.duration(delay, "retry_delay").total_seconds()
    except Exception:  # noqa: BLE001 - what a policy of a DAG file raises
        _LOG.exception("The retry policy has failed; the task's other arguments decide.")
        return standard, None
    if decision.reason:
        _LOG.info("The retry policy says %s: %s", decision.action.value, decision.reason)
    again = {RetryAction.RETRY: True, RetryAction.FAIL: False}.get(decision.action, standard)
    return again, seconds
