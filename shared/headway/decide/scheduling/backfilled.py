"""The runs of backfills that lie ahead of a schedule."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from headway.decide.scheduling.rollup import Spans
from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo


@dataclass(frozen=True, slots=True)
class BackfilledInterval:
    """A run of a backfill: its date, what it is about, and whether it partitions time."""

    date: datetime
    interval: DataInterval
    partitions: bool


class BackfilledIntervals:
    """Tells what backfills have of a schedule, which partitions time or does not."""

    def __init__(self, backfilled: Collection[BackfilledInterval], *, partitions: bool) -> None:
        self._dates: dict[datetime, list[DataInterval]] = {}
        for backfilled_interval in backfilled:
            self._dates.setdefault(backfilled_interval.date, []).append(
                backfilled_interval.interval
            )
        self._spans = Spans(
            backfilled_interval.interval
            for backfilled_interval in backfilled
            if partitions and backfilled_interval.partitions
        )

    def has(self, info: DagRunInfo) -> bool:
        """Whether a backfill has that run: the whole of its interval, at its date."""
        own = info.data_interval
        found = self._dates.get(info.run_after, ())
        return any(covering.start <= own.start and own.end <= covering.end for covering in found)

    def blocks(self, info: DagRunInfo) -> bool:
        """Whether a backfill has a part of that run alone, so that there can be none."""
        own = info.data_interval
        if own.start == own.end or self.has(info):
            return False
        return self._spans.overlap(own)

    def part(self, before: DagRunInfo, after: DagRunInfo) -> bool:
        """Whether a backfill has time between two runs, so that none can be over both."""
        return self._spans.part(before, after)
