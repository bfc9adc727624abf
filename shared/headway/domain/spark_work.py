"""What an attempt has in Spark: figures of its work, and the handle.

The handle is plain data, by which the work can be found again and ended.  `kind` is "connect",
with the `session_id`, the `url` of its server and its `user` there, and the `process` of a
server that is a worker's own; or "submit".  Each has the `application_id` as soon as it is
known, and the `conn_id`.  `tag` names the attempt in either.

A submission of `mode` "cluster" outlives the attempt: it has the `master`, on Kubernetes the
`submission_id` (namespace:pod), and is marked `submitted` once spark-submit has said so,
`refused` by an attempt that could not find out about it, `stopped` (timed_out, cancelled) by one
that came after one which had to stop, or `ended` by one that has seen to its end.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Final, TypeAlias

from headway.domain.arguments import JsonValue

SKEWED: Final = 4.0
"""From which ratio of a stage's longest task to its median one on people are warned."""

MOST: Final = 2**53
"""No figure is larger: what claims to be is no figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkProgress:
    """How far an attempt's Spark jobs are: stages and tasks so far, of all its operations.

    `rate` is tasks a second.  Totals grow when Spark plans further stages.
    """

    stages: int = 0
    stages_done: int = 0
    tasks: int = 0
    tasks_done: int = 0
    tasks_running: int = 0
    rate: float = 0.0
    operation_id: str | None = None

    def to_frame(self) -> dict[str, JsonValue]:
        """Return this as plain data."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_frame(cls, frame: dict[str, JsonValue]) -> "SparkProgress":
        """Return what `to_frame` made the data of; ValueError or TypeError when that is not so."""
        progress = cls(**frame)  # type: ignore[arg-type]
        for name in ("stages", "stages_done", "tasks", "tasks_done", "tasks_running", "rate"):
            _check(name, getattr(progress, name), may_be_broken=name == "rate")
        if not isinstance(progress.operation_id, str | None):
            raise TypeError("operation_id is no text")
        return progress


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkFigures:
    """What an attempt's Spark jobs took in all.

    Times are in milliseconds, sizes in bytes.  `peak_memory_bytes` is the most execution
    memory that one task had.  `skew` is the largest ratio of a stage's longest task to its
    median one, among stages of some length; None when there was none.
    """

    jobs: int = 0
    stages: int = 0
    tasks: int = 0
    tasks_failed: int = 0
    executor_run_ms: int = 0
    executor_cpu_ms: int = 0
    bytes_read: int = 0
    rows_read: int = 0
    bytes_written: int = 0
    rows_written: int = 0
    shuffle_read_bytes: int = 0
    shuffle_write_bytes: int = 0
    spilled_bytes: int = 0
    peak_memory_bytes: int = 0
    skew: float | None = None
    skew_stage: int | None = None

    def to_frame(self) -> dict[str, JsonValue]:
        """Return this as plain data."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_frame(cls, frame: dict[str, JsonValue]) -> "SparkFigures":
        """Return what `to_frame` made the data of; ValueError or TypeError when that is not so."""
        figures = cls(**frame)  # type: ignore[arg-type]
        for each in fields(figures):
            value = getattr(figures, each.name)
            if value is not None or each.default is not None:
                _check(each.name, value, may_be_broken=each.name == "skew")
        return figures


def _check(name: str, value: object, *, may_be_broken: bool) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is no number")
    if not 0 <= value <= MOST or not (may_be_broken or isinstance(value, int)):
        raise ValueError(f"{name} is out of range")


Handle: TypeAlias = Mapping[str, str]


OnHandle: TypeAlias = Callable[[Handle], object]
"""Keeps a handle.  It is called before Spark is given anything to do, and may be called again."""


CLUSTER: Final = "cluster"
"""The mode of a handle whose driver runs on the cluster."""


def name_of(handle: Handle) -> str:
    """Return what to call the application in words to a user."""
    known = handle.get("application_id") or handle.get("submission_id") or handle.get("tag")
    return f"application {known}"


def outliving(handle: object) -> str | None:
    """Return the name of the application that may go on without its attempt, if it is of one."""
    if not isinstance(handle, Mapping) or handle.get("mode") != CLUSTER:
        return None
    settled = "ended" in handle or "refused" in handle
    return None if settled else name_of(handle)
