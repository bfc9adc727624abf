"""One run about several intervals: what it is about, and what parts them."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo


def over(infos: Sequence[DagRunInfo]) -> DagRunInfo:
    """Return the run over these, which follow each other: it falls due with the last of them."""
    intervals = [info.data_interval for info in infos]
    union = DataInterval(intervals[0].start, max(interval.end for interval in intervals))
    return DagRunInfo(max(info.run_after for info in infos), union)


class Spans:
    """The time that runs are about of which no two may be about the same."""

    def __init__(self, intervals: Iterable[DataInterval]) -> None:
        self._spans = _joined(interval for interval in intervals if interval.start < interval.end)
        self._ends = [span.end for span in self._spans]

    def overlap(self, its: DataInterval) -> bool:
        """Whether a run is about a part of that period."""
        nth = bisect_left(self._ends, its.start)
        near = self._spans[nth : nth + 2]
        return any(interval.start < its.end and its.start < interval.end for interval in near)

    def part(self, before: DagRunInfo, after: DagRunInfo) -> bool:
        """Whether a run is about time between two, so that none can be over both of these."""
        end, start = before.data_interval.end, after.data_interval.start
        return end < start and self.overlap(DataInterval(end, start))


def _joined(intervals: Iterable[DataInterval]) -> list[DataInterval]:
    spans: list[DataInterval] = []
    for interval in sorted(intervals):
        if spans and interval.start <= spans[-1].end:
            before = spans.pop()
            spans.append(DataInterval(before.start, max(before.end, interval.end)))
        else:
            spans.append(interval)
    return spans
