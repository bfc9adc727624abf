"""What becomes of runs that were missed, and of runs that would overlap."""

from enum import StrEnum


class Catchup(StrEnum):
    """Which of the runs that fell due while nobody scheduled a DAG are run after all."""

    NONE = "none"
    LATEST = "latest"
    ALL = "all"
    ROLLUP = "rollup"


class Overlap(StrEnum):
    """What becomes of a run that falls due while another one of the schedule has not ended."""

    QUEUE = "queue"
    SKIP = "skip"
    CANCEL_RUNNING = "cancel_running"


class SkipReason(StrEnum):
    """Why intervals of a schedule have no run of their own."""

    CATCHUP = "catchup"
    WINDOW = "window"
    OVERLAP = "overlap"
    ROLLUP = "rollup"
    BACKFILL = "backfill"
    CONFLICT = "conflict"
