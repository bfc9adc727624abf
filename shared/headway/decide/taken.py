"""The runs of backfills that lie ahead of a schedule."""

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo


@dataclass(frozen=True, slots=True)
class Taken:
    """A run of a backfill: its date, what it is about, and whether it partitions time."""

    date: datetime
    interval: DataInterval
    partitions: bool


class Ahead:
    """Tells what backfills have of a schedule, which partitions time or does not."""

    def __init__(self, taken: Collection[Taken], *, partitions: bool) -> None:
        self._dates: dict[datetime, list[DataInterval]] = {}
        for it in taken:
            self._dates.setdefault(it.date, []).append(it.interval)
        apart = (it.interval for it in taken if partitions and it.partitions)
        self._spans = _joined(it for it in apart if it.start < it.end)
        self._ends = [span.end for span in self._spans]

    def has(self, info: DagRunInfo) -> bool:
        """Whether a backfill has that run: the whole of its interval, at its date."""
        own = info.data_interval
        found = self._dates.get(info.run_after, ())
        return any(it.start <= own.start and own.end <= it.end for it in found)

    def blocks(self, info: DagRunInfo) -> bool:
        """Whether a backfill has a part of that run alone, so that there can be none."""
        own = info.data_interval
        if own.start == own.end or self.has(info):
            return False
        nth = bisect_left(self._ends, own.start)
        near = self._spans[nth : nth + 2]
        return any(it.start < own.end and own.start < it.end for it in near)


def _joined(intervals: Iterable[DataInterval]) -> list[DataInterval]:
    spans: list[DataInterval] = []
    for it in sorted(intervals):
        if spans and it.start <= spans[-1].end:
            before = spans.pop()
            spans.append(DataInterval(before.start, max(before.end, it.end)))
        else:
            spans.append(it)
    return spans
