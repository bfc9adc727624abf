"""What is kept for a time only, and the words for what stays longer."""

from datetime import timedelta
from enum import StrEnum
from typing import Final


class RetainedKind(StrEnum):
    """What is removed together."""

    RUNS = "runs"
    EVENTS = "events"
    CALLBACKS = "callbacks"
    PROCESSES = "processes"


class KeepReason(StrEnum):
    """Why something old stays."""

    UNFINISHED = "unfinished"
    LATEST = "latest"
    PAST = "past"
    BACKFILL = "backfill"
    EXTERNAL = "external"
    REFERENCED = "referenced"
    OTHER = "other"
    """It is not asked for: it is of another DAG."""


LEAST: Final = 86_400.0
"""Seconds for which everything stays; the database refuses to remove what is younger."""

LONGEST_STATE_KEY: Final = 512
"""Characters of a key in the state store of a task."""

DEFAULT_RETENTION: Final = timedelta(days=30)
"""For how long a value stays in the state store of a task that does not say so itself."""

LONGEST_RETENTION: Final = timedelta(days=36_500)
"""The longest that a task may say; what is to stay longer never expires."""
