"""A timetable of equal periods of elapsed time."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final, Self

from headway.domain.arguments import JsonValue
from headway.domain.interval import DataInterval
from headway.timetables.arguments import Arguments
from headway.timetables.durations import check_duration
from headway.timetables.recurring import Recurring

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TimeDeltaTimetable(Recurring):
    """Runs once per `delta` of elapsed time, whatever the clocks are set to.

    The first interval starts at the DAG's start date, or on a whole number of deltas
    since 1970 where it has none.  An explicit `interval` sets how long each one is; it
    is `delta` by default.
    """

    name: ClassVar[str] = "delta"

    delta: timedelta
    interval: timedelta | None = None

    def __post_init__(self) -> None:
        check_duration("The period of a schedule", self.delta)
        check_duration("The interval of a timetable", self._length)

    @property
    def summary(self) -> str:
        """How often it runs, and the length of the interval if it is explicit."""
        every = f"every {self.delta}"
        return every if self.interval is None else f"{every} over {self.interval}"

    @property
    def partitions(self) -> bool:
        """Whether an interval is over before the next one starts."""
        return self._length <= self.delta

    def starting_at(self, start: datetime) -> DataInterval:
        """Return the interval that starts at `start`."""
        return DataInterval(start, start + self._length)

    def start_following(self, last: DataInterval) -> datetime:
        """Return where `last` ends, or one delta after its start if the length is explicit."""
        if self.interval is None:
            return last.end.astimezone(UTC)
        start = last.start.astimezone(UTC) + self.delta
        return max(start, last.end.astimezone(UTC)) if self.partitions else start

    def align(self, earliest: datetime) -> datetime:
        """Return `earliest` itself: the intervals are counted from there."""
        return earliest.astimezone(UTC)

    def skip_missed(self, start: datetime | None, now: datetime) -> datetime:
        """Return the latest start in steps of delta from `start` whose interval is complete."""
        origin = _EPOCH if start is None else start
        latest = origin + (now - self._length - origin) // self.delta * self.delta
        return latest if start is None else max(start, latest)

    def complete_by(self, moment: datetime) -> DataInterval:
        """Return the interval that ends at `moment`."""
        end = moment.astimezone(UTC)
        return DataInterval(end - self._length, end)

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the durations in seconds."""
        interval = None if self.interval is None else self.interval.total_seconds()
        return {"delta": self.delta.total_seconds(), "interval": interval}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        delta = arguments.take_duration("delta")
        return cls(delta, arguments.take_optional_duration("interval"))

    @property
    def _length(self) -> timedelta:
        return self.delta if self.interval is None else self.interval
