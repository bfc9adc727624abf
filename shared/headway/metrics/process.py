"""Metrics of each process."""

from pathlib import Path
from shutil import disk_usage
from typing import Final

from headway.metrics.metric import EVERY, Counter, Gauge, Label, ServiceKind

INFO: Final = Gauge(
    "headway_service_info",
    "1, with the kind and the release of the service.",
    EVERY,
    (Label("service", tuple(ServiceKind)), Label("version")),
)

CLOCK_SKEW: Final = Gauge(
    "headway_clock_skew_seconds",
    "Seconds by which the clock of this process is ahead of the database's; negative if behind.",
    EVERY,
    unit="seconds",
)

ILLEGAL_TRANSITIONS: Final = Counter(
    "headway_illegal_transition",
    "Moves that the database refused because the table of moves does not have them: bugs.",
    EVERY,
)

DISK: Final = Gauge(
    "headway_home_disk_bytes",
    "Bytes of the disk that holds the Headway home: what it has (total), and what is free.",
    frozenset({ServiceKind.PARSER, ServiceKind.WORKER}),
    (Label("space", ("total", "free")),),
    unit="bytes",
)

SPANS_DROPPED: Final = Counter(
    "headway_spans_dropped",
    "What no collector of traces was told: reports, as too much waited (queue) or the database did "
    "not answer (database); spans, as the collector took none (collector).",
    frozenset({ServiceKind.SCHEDULER, ServiceKind.WORKER}),
    (Label("why", ("queue", "database", "collector")),),
)

DECLARED: Final = (INFO, CLOCK_SKEW, ILLEGAL_TRANSITIONS, DISK, SPANS_DROPPED)


def show_disk(home: Path) -> None:
    """Have the metrics tell of the disk that holds a folder, or the one that it will be in."""
    there = next(it for it in (home, *home.parents) if it.is_dir())

    def read() -> dict[tuple[str, ...], float]:
        usage = disk_usage(there)
        return {("total",): usage.total, ("free",): usage.free}

    DISK.read_by(read)
