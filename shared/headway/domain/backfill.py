"""What a user may say of a backfill, and what becomes of each of its dates."""

from enum import StrEnum


class Reprocess(StrEnum):
    """Which runs that have ended run again in a backfill: none, failed ones, or all."""

    NONE = "none"
    FAILED = "failed"
    COMPLETED = "completed"


class Direction(StrEnum):
    """Whether the oldest interval comes first, or the newest."""

    FORWARD = "forward"
    BACKWARD = "backward"


class BackfillState(StrEnum):
    """What a backfill is called.

    One that was cancelled is CANCELLING until its last run has ended.  EMPTY is one whose runs
    are all deleted, or in a later backfill by now.
    """

    RUNNING = "running"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    SUCCESS = "success"
    FAILED = "failed"
    EMPTY = "empty"


class DateDecision(StrEnum):
    """What becomes of a date: a new run, the one it has once more, or nothing.

    What is skipped has ended and is left as it is; a conflict is a run in the way.
    """

    CREATE = "create"
    RERUN = "rerun"
    SKIP = "skip"
    CONFLICT = "conflict"
