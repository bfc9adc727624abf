"""How people are told what an attempt does in Spark."""

from collections.abc import Mapping
from typing import Any, Final

UNKNOWN: Final = "unknown"
SKEWED: Final = 4.0
"""From which ratio of a stage's longest task to its median one on there is a warning."""

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP: Final = 1024


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


def size(number: int | None) -> str:
    """Return a number of bytes with its unit."""
    if number is None:
        return UNKNOWN
    value, unit = float(number), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.0f} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def span(milliseconds: int | None) -> str:
    """Return a number of milliseconds in seconds."""
    return UNKNOWN if milliseconds is None else f"{milliseconds / 1000:.1f} s"


def _figures(known: Mapping[str, Any]) -> str:
    parts = [f"{known['tasks']} tasks", span(known["executor_run_ms"])]
    if known["bytes_read"]:
        parts.append(f"read {size(known['bytes_read'])}")
    if known["bytes_written"]:
        parts.append(f"wrote {size(known['bytes_written'])}")
    if known["spilled_bytes"]:
        parts.append(f"spilled {size(known['spilled_bytes'])}")
    if known["skew"] is not None and known["skew"] >= SKEWED:
        parts.append(f"skew {known['skew']:g} in stage {known['skew_stage']}")
    return ", ".join(parts)
