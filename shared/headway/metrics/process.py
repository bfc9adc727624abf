"""Metrics of each process."""

from pathlib import Path
from shutil import disk_usage
from typing import Final

from headway.metrics.metric import EVERY, Counter, Gauge, Label, ServiceKind

INFO: Final = Gauge(
    "headway_service_info",
    "Always 1; the labels are the kind and the release of the service.",
    EVERY,
    (Label("service", tuple(ServiceKind)), Label("version")),
)

CLOCK_SKEW: Final = Gauge(
    "headway_clock_skew_seconds",
    "Seconds by which this process's clock is ahead of the database's "
    "clock; negative if it is behind.",
    EVERY,
    unit="seconds",
)

ILLEGAL_TRANSITIONS: Final = Counter(
    "headway_illegal_transition",
    "State changes that the database refused because the rules do not allow them: bugs.",
    EVERY,
)

DISK: Final = Gauge(
    "headway_home_disk_bytes",
    "Bytes of the disk that holds the Headway home: its size (total), and its free space (free).",
    frozenset({ServiceKind.PARSER, ServiceKind.WORKER}),
    (Label("space", ("total", "free")),),
    unit="bytes",
)

SPANS_DROPPED: Final = Counter(
    "headway_spans_dropped",
    "What was not sent to the collector of traces: notes about ended attempts and runs, "
    "because too many waited (queue) or the database did not answer (database); and "
    "spans, because the collector did not accept them (collector).",
    frozenset({ServiceKind.SCHEDULER, ServiceKind.WORKER}),
    (Label("why", ("queue", "database", "collector")),),
)

DECLARED: Final = (INFO, CLOCK_SKEW, ILLEGAL_TRANSITIONS, DISK, SPANS_DROPPED)


def show_disk(home: Path) -> None:
    """Have the metrics tell of the disk that holds a folder, or the one that it will be in."""
    there = next(path for path in (home, *home.parents) if path.is_dir())

    def read() -> dict[tuple[str, ...], float]:
        usage = disk_usage(there)
        return {("total",): usage.total, ("free",): usage.free}

    DISK.read_by(read)
