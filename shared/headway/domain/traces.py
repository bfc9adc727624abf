"""Traces of runs and attempts: which spans there are, and their ids.

Ids are made from what each service knows anyway, so that services need not tell each other.  A
trace is one execution of a run: a run that is cleared and started again has another one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Final
from uuid import UUID

_TRACE_BYTES: Final = 16
_SPAN_BYTES: Final = 8
_SUCCESS: Final = "success"


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took from `start` to `end`; `error` says why it failed."""

    name: str
    trace_id: int
    span_id: int
    parent_id: int | None
    start: datetime
    end: datetime
    attributes: Mapping[str, str | int]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunTrace:
    """The trace of one execution of a run."""

    dag_id: str
    run_id: str
    dag_run_id: int
    started_at: datetime

    @property
    def trace_id(self) -> int:
        """The id of the trace."""
        return _number(_TRACE_BYTES, *self._names)

    @property
    def span_id(self) -> int:
        """The id of the span of the run, below which those of its attempts are."""
        return _number(_SPAN_BYTES, *self._names)

    @property
    def _names(self) -> tuple[str, ...]:
        return self.dag_id, self.run_id, str(self.dag_run_id), str(self.started_at.timestamp())


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedAttempt:
    """An attempt that has ended, as the database has it; nobody has claimed one without a token.

    `scheduled_at` is of the last time that its task was: for a try after this one, if there is one.
    """

    run: RunTrace
    task_id: str
    map_index: int
    attempt: int
    token: UUID | None
    queue: str
    pool: str
    scheduled_at: datetime | None
    queued_at: datetime
    claimed_at: datetime | None
    ended_at: datetime
    outcome: str
    error: str | None
    worker: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedRun:
    """A run that has ended, as the database has it."""

    trace: RunTrace
    run_type: str
    due_at: datetime
    ended_at: datetime
    state: str


@dataclass(frozen=True, slots=True)
class Parent:
    """What the spans that a task makes itself are below, as W3C's Trace Context writes it."""

    trace: RunTrace
    token: UUID
    sampled: bool = field(default=True)

    def __str__(self) -> str:
        """Return the value of TRACEPARENT."""
        flags = "01" if self.sampled else "00"
        return f"00-{self.trace.trace_id:032x}-{_of_attempt(self.token, 'running'):016x}-{flags}"


def of_run(run: TracedRun) -> Iterator[Span]:
    """Yield the span of a run, from when it was due, and of how long it waited for its start."""
    trace = run.trace
    attributes = {
        "headway.dag_id": trace.dag_id,
        "headway.run_id": trace.run_id,
        "headway.run_type": run.run_type,
        "headway.state": run.state,
    }
    due = min(run.due_at, trace.started_at)
    error = None if run.state == _SUCCESS else f"The run has ended as {run.state}."
    ids = trace.trace_id, trace.span_id
    yield Span(f"run {trace.dag_id}", *ids, None, due, run.ended_at, attributes, error)
    waiting = _number(_SPAN_BYTES, f"{trace.span_id}", "due")
    yield Span("due", trace.trace_id, waiting, trace.span_id, due, trace.started_at, attributes)


def of_attempt(attempt: TracedAttempt, began_at: datetime | None) -> Iterator[Span]:
    """Yield the span of an attempt, and of each phase that it came to.

    `began_at` is when its process was started, if its worker tells.
    """
    if attempt.token is None or attempt.claimed_at is None:
        return
    trace, token, end = attempt.run, attempt.token, attempt.ended_at
    attributes = dict(_attributes(attempt))
    error = None
    if attempt.outcome not in (_SUCCESS, "skipped"):
        error = attempt.error or attempt.outcome
    whole = _of_attempt(token, "attempt")
    queued = attempt.queued_at
    scheduled = min(attempt.scheduled_at or queued, queued)
    claimed = max(attempt.claimed_at, queued)
    began = min(max(began_at or claimed, claimed), end)
    yield Span(
        f"attempt {attempt.task_id}",
        trace.trace_id,
        whole,
        trace.span_id,
        scheduled,
        end,
        attributes,
        error,
    )
    phases = (
        ("scheduled", scheduled, queued, None),
        ("queued", queued, claimed, None),
        ("claimed", claimed, began, None),
        ("running", began, end, error),
    )
    for name, start, until, problem in phases:
        span_id = _of_attempt(token, name)
        yield Span(name, trace.trace_id, span_id, whole, start, until, attributes, problem)


def _attributes(attempt: TracedAttempt) -> Iterator[tuple[str, str | int]]:
    yield "headway.dag_id", attempt.run.dag_id
    yield "headway.run_id", attempt.run.run_id
    yield "headway.task_id", attempt.task_id
    if attempt.map_index >= 0:
        yield "headway.map_index", attempt.map_index
    yield "headway.attempt", attempt.attempt
    yield "headway.queue", attempt.queue
    yield "headway.pool", attempt.pool
    yield "headway.outcome", attempt.outcome
    if attempt.worker is not None:
        yield "headway.worker", attempt.worker


def _of_attempt(token: UUID, what: str) -> int:
    return _number(_SPAN_BYTES, str(token), what)


def _number(size: int, *names: str) -> int:
    """Return a number of so many bytes that these names have, and no others; never 0."""
    return int.from_bytes(sha256("\n".join(names).encode()).digest()[:size]) or 1
