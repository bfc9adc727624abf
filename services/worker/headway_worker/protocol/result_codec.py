"""The last words of an attempt's child: its result as plain data, and back."""

from collections.abc import Mapping

from headway.domain.states import Outcome
from headway.runtime.processes.frames import Frame
from headway.sdk.harness.execution import Result


def result_to_frame(result: Result) -> Frame:
    """Return a result as plain data."""
    return {
        "outcome": str(result.outcome),
        "error": result.error,
        "traceback": result.traceback,
        "may_retry": result.may_retry,
        "retry_delay": result.retry_delay,
        "skip_tasks": list(result.skip_tasks),
    }


def result_from_frame(frame: Mapping[str, object]) -> Result:
    """Return what a child says of its attempt; ValueError or TypeError when it makes no sense."""
    outcome = Outcome(str(frame["outcome"]))
    if outcome not in (Outcome.SUCCESS, Outcome.FAILED, Outcome.SKIPPED):
        raise ValueError(f"a task cannot end as {outcome}")
    skips = frame["skip_tasks"]
    if not isinstance(skips, list) or not all(_is_id(task_id) for task_id in skips):
        raise TypeError("skip_tasks is no list of task ids")
    return Result(
        outcome=outcome,
        error=_text(frame["error"]),
        traceback=_text(frame["traceback"]),
        may_retry=bool(frame["may_retry"]),
        retry_delay=_seconds(frame["retry_delay"]),
        skip_tasks=tuple(skips),
    )


def _is_id(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _seconds(value: object) -> float | None:
    if value is not None and (not isinstance(value, int | float) or not value >= 0):
        raise TypeError(f"{value!r} is no delay in seconds")
    return value


def _text(value: object) -> str | None:
    return None if value is None else str(value)
