"""The metrics of a service process, in the registry that it shows to Prometheus."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

REGISTRY: Final = CollectorRegistry()

LOGS_NOT_COPIED: Final = Counter(
    "headway_logs_not_copied",
    "Logs of attempts that a worker has given up copying; it tries them again when it starts.",
    registry=REGISTRY,
)

LOG_BYTES_LOST: Final = Counter(
    "headway_log_bytes_lost",
    "Bytes of attempts' logs that the disk of a worker has not taken.",
    registry=REGISTRY,
)

CLOCK_SKEW: Final = Gauge(
    "headway_clock_skew_seconds",
    "Seconds by which the clock of this process is ahead of the database's; negative if behind.",
    registry=REGISTRY,
)

RETENTION_BEHIND: Final = Gauge(
    "headway_retention_behind_seconds",
    "Seconds for which the oldest row of a kind is kept longer than the policy says; up to one "
    "interval of the policy is normal.",
    ["kind"],
    registry=REGISTRY,
)

ILLEGAL_TRANSITIONS: Final = Counter(
    "headway_illegal_transition",
    "Moves that the database refused because the table of moves does not have them: bugs.",
    registry=REGISTRY,
)

DEADLINES_MISSED: Final = Counter(
    "headway_deadlines_missed",
    "Deadlines of runs and tasks that this scheduler has found to be missed.",
    registry=REGISTRY,
)
