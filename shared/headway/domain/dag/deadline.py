"""Deadlines: by when a run, or a task of it, is to have ended, as a DAG file says it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class DeadlineMoment(StrEnum):
    """The moment that a deadline is counted from: one of the run's, or a date."""

    DUE = "due"
    QUEUED = "queued"
    START = "start"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineSpec:
    """A deadline: so many `seconds` after a moment of the run, or after the date `at`.

    Runs of a backfill have it only with `backfills`.
    """

    reference: DeadlineMoment = DeadlineMoment.DUE
    seconds: float = 0.0
    at: datetime | None = None
    backfills: bool = False

    @property
    def name(self) -> str:
        """What it is called within its DAG or task: it tells what it is counted from."""
        since = str(self.reference) if self.at is None else self.at.isoformat()
        return f"{timedelta(seconds=self.seconds)} after {since}" if self.seconds else f"at {since}"
