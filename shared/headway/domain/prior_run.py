"""What a task may know of a run of its DAG that came before."""

from dataclasses import dataclass
from datetime import datetime

from headway.domain.interval import DataInterval


@dataclass(frozen=True, slots=True)
class PriorRun:
    """A run of the schedule that succeeded: what it was about, when it started and ended."""

    data_interval: DataInterval
    start_date: datetime
    end_date: datetime
