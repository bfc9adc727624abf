"""The data interval: the period of time that one DAG run is about, and that of an earlier run."""

from dataclasses import dataclass
from datetime import datetime

from headway.domain.errors import TimetableError


@dataclass(frozen=True, slots=True, order=True)
class DataInterval:
    """The half-open period `[start, end)`; both are aware.  start = end is an exact time."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise TimetableError("A data interval needs dates with a time zone.")
        if self.end < self.start:
            raise TimetableError(
                f"A data interval cannot end ({self.end}) before it starts ({self.start})."
            )

    @classmethod
    def exact(cls, at: datetime) -> "DataInterval":
        """Return the interval of a run that is about one point in time."""
        return cls(at, at)


@dataclass(frozen=True, slots=True)
class PriorRun:
    """A run of the schedule that succeeded: what it was about, when it started and ended."""

    data_interval: DataInterval
    start_date: datetime
    end_date: datetime
