"""What is kept for a time only, and the words for what stays longer."""

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
