"""How people are told what an attempt does in Spark."""

from collections.abc import Mapping
from typing import Any, Final

from headway.domain.sizes import in_bytes
from headway.domain.spark_work import SKEWED

UNKNOWN: Final = "unknown"


def told(
    progress: Mapping[str, Any] | None, figures: Mapping[str, Any] | None, *, ended: bool
) -> str | None:
    """Return the progress of an attempt that runs, or the figures of one that has ended.

    Those of an attempt that has ended with progress alone are unknown; None when there is nothing
    to tell.
    """
    if figures is not None:
        return _figures(figures)
    if progress is None:
        return None
    return UNKNOWN if ended else _progress(progress)


def _progress(known: Mapping[str, Any]) -> str:
    """Return how far an attempt is: tasks, stages, tasks a second."""
    return (
        f"{known['tasks_done']}/{known['tasks']} tasks in "
        f"{known['stages_done']}/{known['stages']} stages, {known['rate']:g}/s"
    )


def span(milliseconds: int | None) -> str:
    """Return a number of milliseconds in seconds."""
    return UNKNOWN if milliseconds is None else f"{milliseconds / 1000:.1f} s"


def _figures(known: Mapping[str, Any]) -> str:
    parts = [f"{known['tasks']} tasks", span(known["executor_run_ms"])]
    if known["bytes_read"]:
        parts.append(f"read {in_bytes(known['bytes_read'])}")
    if known["bytes_written"]:
        parts.append(f"wrote {in_bytes(known['bytes_written'])}")
    if known["spilled_bytes"]:
        parts.append(f"spilled {in_bytes(known['spilled_bytes'])}")
    if known["skew"] is not None and known["skew"] >= SKEWED:
        parts.append(f"skew {known['skew']:g} in stage {known['skew_stage']}")
    return ", ".join(parts)
