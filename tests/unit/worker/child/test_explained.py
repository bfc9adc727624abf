"""What is told of Spark instead of a task's error, and of which ends of tasks."""

from dataclasses import replace
from typing import Any

import pytest

from headway.domain.states import Outcome
from headway.sdk.harness.execution import Result
from headway_worker.child.attempt import ChannelRuntime


class _Gone:
    """Spark that is gone, whatever a task says."""

    def explain(self, error: str) -> str:
        return f"Spark has gone; the task was told: {error}"


@pytest.fixture
def runtime() -> ChannelRuntime:
    nothing: Any = None
    made = ChannelRuntime(nothing, nothing)
    made._spark = _Gone()  # type: ignore[assignment]
    return made


def test_a_failure_is_explained(runtime: ChannelRuntime) -> None:
    failed = Result(outcome=Outcome.FAILED, error="Py4JError")

    told = runtime.explained(failed)

    assert told == replace(failed, error="Spark has gone; the task was told: Py4JError")


def test_a_task_that_skips_itself_keeps_its_reason(runtime: ChannelRuntime) -> None:
    skipped = Result(outcome=Outcome.SKIPPED, error="no data")

    assert runtime.explained(skipped) == skipped
