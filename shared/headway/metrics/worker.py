"""Metrics of workers: slots, attempts, logs, Spark."""

from typing import Final

from headway.domain.states import Outcome
from headway.metrics.metric import Counter, Gauge, Histogram, Label, ServiceKind

_OURS: Final = frozenset({ServiceKind.WORKER})

SLOTS: Final = Gauge(
    "headway_worker_slots",
    "Slots of this worker: all (total), held by attempts (used), and open "
    "for further attempts (free).",
    _OURS,
    (Label("state", ("total", "used", "free")),),
)

ATTEMPTS: Final = Counter(
    "headway_attempts",
    "Attempts that this worker has reported, by DAG and outcome.",
    _OURS,
    (Label("dag"), Label("outcome", tuple(Outcome))),
)

ATTEMPT_SECONDS: Final = Histogram(
    "headway_attempt_duration_seconds",
    "Duration of attempts on this worker.",
    _OURS,
    unit="seconds",
    bounds=(0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0),
)

TASK_LAG: Final = Histogram(
    "headway_task_lag_seconds",
    "Time from when the dependencies of a task were met until this worker started the task.",
    _OURS,
    unit="seconds",
)

CLAIM_LATENCY: Final = Histogram(
    "headway_claim_latency_seconds",
    "Time from when an attempt was queued until this worker claimed it.",
    _OURS,
    unit="seconds",
)

LEASE_MARGIN: Final = Histogram(
    "headway_lease_margin_seconds",
    "Time that was left, when a lease was renewed, until the worker would have killed the "
    "attempt; near 0, renewals come almost too late.",
    _OURS,
    unit="seconds",
    bounds=(0.0, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 300.0),
)

LEASES_LOST: Final = Counter(
    "headway_leases_lost",
    "Attempts that this worker has killed because it could not renew their leases.",
    _OURS,
)

LOG_BYTES: Final = Counter(
    "headway_log_bytes",
    "Bytes that this worker has written to logs of attempts and callbacks.",
    _OURS,
    unit="bytes",
)

LOG_BYTES_LOST: Final = Counter(
    "headway_log_bytes_lost",
    "Bytes of attempts' logs that this worker could not write to its disk.",
    _OURS,
    unit="bytes",
)

LOGS_NOT_COPIED: Final = Counter(
    "headway_logs_not_copied",
    "Logs of attempts that this worker has given up copying; a worker tries again when it starts.",
    _OURS,
)

SPARK_SESSIONS: Final = Gauge(
    "headway_spark_sessions",
    "Attempts of this worker that use a Spark Connect server.",
    _OURS,
)

SPARK_TASKS: Final = Counter("headway_spark_tasks", "Spark tasks of ended attempts.", _OURS)

SPARK_EXECUTOR_SECONDS: Final = Counter(
    "headway_spark_executor_seconds",
    "Time that executors ran for ended attempts.",
    _OURS,
    unit="seconds",
)

SPARK_BYTES: Final = Counter(
    "headway_spark_bytes",
    "Bytes that ended attempts read, wrote, shuffled, and spilled to disk.",
    _OURS,
    (Label("kind", ("read", "written", "shuffle_read", "shuffle_written", "spilled")),),
    "bytes",
)

DECLARED: Final = (
    SLOTS,
    ATTEMPTS,
    ATTEMPT_SECONDS,
    TASK_LAG,
    CLAIM_LATENCY,
    LEASE_MARGIN,
    LEASES_LOST,
    LOG_BYTES,
    LOG_BYTES_LOST,
    LOGS_NOT_COPIED,
    SPARK_SESSIONS,
    SPARK_TASKS,
    SPARK_EXECUTOR_SECONDS,
    SPARK_BYTES,
)
