"""What all timetables have in common whose runs follow each other by rule."""

from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Final

from headway.domain.errors import TimetableError
from headway.domain.interval import DataInterval
from headway.timetables.base import END, DagRunInfo, TimeRestriction, Timetable
from headway.timetables.wall_clock.durations import Period
from headway.timetables.wall_clock.effort import limited

INSTANT: Final = timedelta.resolution
EXACT: Final = Period()


class Often(IntEnum):
    """How often something runs at most."""

    ANY = 0
    ONCE_A_DAY = 1
    ONCE_A_MONTH = 2


class Grain(IntEnum):
    """What a timetable is about; of two with a common part the lower one says what the runs are."""

    INTERVALS = 0
    TIMES = 1
    DAYS = 2
    MINUTES_OF_DAYS = 3


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whether runs may begin at an instant, and that nothing changes in `[since, until)`.

    None stands for the beginning and the end of time.  Where a calendar has no data, nothing is
    known: `included` is None then.
    """

    included: bool | None
    since: datetime | None
    until: datetime | None


class Recurring(Timetable):
    """A timetable by rule; a subclass says where its intervals start and end.

    Its intervals form a sequence in which both the starts and the ends rise.  They may come
    to an end; a method then returns None.
    """

    __slots__ = ()

    def in_zone(self, timezone: str) -> "Recurring":  # noqa: ARG002
        """Return it as it is for a DAG in that zone, unless it has a zone of its own."""
        return self

    @property
    @abstractmethod
    def length(self) -> Period | None:
        """How long each interval is, or None where they differ."""

    @property
    def often(self) -> Often:
        """How often it runs at most.

        Days of the calendar can be added to where intervals start without two becoming one only if
        they start on different days: an hour that comes twice comes once on the day before.
        So it is with months, which end on different days.
        """
        return Often.ANY

    @property
    def grain(self) -> Grain:
        """What it is about."""
        return Grain.INTERVALS

    @abstractmethod
    def first_from(self, earliest: datetime) -> DataInterval | None:
        """Return the first interval that starts at or after `earliest`."""

    @abstractmethod
    def following(self, last: DataInterval) -> DataInterval | None:
        """Return the interval after `last`.

        After a change of schedule `last` may be an interval of another timetable.
        """

    @abstractmethod
    def last_starting(self, before: datetime) -> DataInterval | None:
        """Return the latest interval that starts before `before`."""

    def started_by(self, moment: datetime) -> datetime:
        """Return a time at which every interval that is over by `moment` has started."""
        return moment

    def last_over(self, moment: datetime) -> DataInterval | None:
        """Return the latest interval that is over by `moment`."""
        with limited():
            interval = self.last_starting(self.started_by(moment) + INSTANT)
            while interval is not None and interval.end > moment:
                interval = self.last_starting(interval.start)
            return interval
        return None

    def __and__(self, other: object) -> "Recurring":
        """Return the runs that begin at a time of both."""
        from headway.timetables.kinds.combined import check_part
        from headway.timetables.kinds.selected import intersect

        return intersect(self, check_part(other))

    def __or__(self, other: object) -> "Recurring":
        """Return the runs of either."""
        from headway.timetables.kinds.combined import Union, check_part

        mine = self.timetables if isinstance(self, Union) else (self,)
        return Union((*mine, check_part(other)))

    def __sub__(self, other: object) -> "Recurring":
        """Return the runs that do not begin at a time of `other`."""
        from headway.timetables.kinds.combined import check_part
        from headway.timetables.kinds.selected import Exclusion

        return Exclusion(self, check_part(other))

    def next_dagrun_info(
        self, last: DataInterval | None, restriction: TimeRestriction, now: datetime
    ) -> DagRunInfo | None:
        """Return the run over the interval that follows `last` within the restriction.

        Without `last`, `earliest` and the leave to skip what was missed there is no
        first interval, hence None.
        """
        with limited(), suppress(OverflowError):  # the calendar ends with the year 9999
            interval = self._next(last, restriction, now)
            if interval is None or interval.end > END or restriction.is_past(interval.start):
                return None
            return DagRunInfo.once_over(interval)
        return None

    def infer_manual_data_interval(self, run_after: datetime) -> DataInterval:
        """Return the latest interval that is complete at `run_after`, else that instant."""
        try:
            return self.complete_by(run_after)
        except OverflowError as error:
            raise TimetableError(
                f"No data interval ends before {run_after}, the beginning of the calendar; "
                "trigger the run for a later date."
            ) from error

    def complete_by(self, moment: datetime) -> DataInterval:
        """Return the interval that a run by hand at `moment` is about."""
        return self.last_over(moment) or DataInterval.exact(moment.astimezone(UTC))

    def skip_missed(
        self,
        interval: DataInterval | None,
        earliest: datetime | None,  # noqa: ARG002 - from where some count their intervals
        now: datetime,
    ) -> DataInterval | None:
        """Return the latest interval complete by `now`, or `interval` if that is later."""
        latest = self.last_over(now)
        if latest is None or (interval is not None and interval.start >= latest.start):
            return interval
        return latest

    def next_from(self, last: DataInterval, earliest: datetime | None) -> DataInterval | None:
        """Return the interval after `last` that does not start before `earliest`.

        It ends later, though `last` may be a long one of a former schedule: runs are dated by that.
        """
        interval = self.following(last)
        if interval is not None and interval.end <= last.end:
            over = self.skip_missed(interval, earliest, last.end)
            interval = None if over is None else self.following(over)
        if interval is None or earliest is None or interval.start >= earliest:
            return interval
        return self.first_from(earliest)

    def meant(self, start: datetime) -> list[datetime]:
        """Return the times of the rule that the start of an interval stands for.

        It is the start itself; at the end of a gap they may be those that the clocks skipped, in
        the zone of the rule.
        """
        return [start]

    def stretch(
        self,
        instant: datetime,
        meant: datetime | None = None,  # noqa: ARG002 - for what goes by the clocks
    ) -> Stretch:
        """Return whether an interval starts at `instant`, and from when to when that holds.

        `meant` is what the instant stands for, if it is at the end of a gap.
        """
        coming = self.first_from(instant)
        if coming is not None and coming.start == instant:
            return Stretch(True, instant, instant + INSTANT)
        past = self.last_starting(instant)
        since = None if past is None else past.start + INSTANT
        return Stretch(False, since, None if coming is None else coming.start)

    def _next(
        self, last: DataInterval | None, restriction: TimeRestriction, now: datetime
    ) -> DataInterval | None:
        earliest = restriction.earliest
        if last is not None:
            interval = self.next_from(last, earliest)
        else:
            interval = None if earliest is None else self.first_from(earliest)
        if restriction.catchup or (interval is None and last is not None):
            return interval
        latest = self.skip_missed(interval, earliest, now)
        if earliest is None:
            return self._first(now) if latest is None else latest
        return interval if latest is None or latest.start < earliest else latest

    def _first(self, now: datetime) -> DataInterval | None:
        """Return the first interval of all, where none is over by `now`."""
        interval = self.first_from(now)
        before = self.last_starting(now if interval is None else interval.start)
        while before is not None:
            interval, before = before, self.last_starting(before.start)
        return interval


class Exact(Recurring):
    """A timetable of exact times: each run is about its own instant."""

    __slots__ = ()

    @abstractmethod
    def tick_after(self, instant: datetime) -> datetime | None:
        """Return the first time later than `instant`, in UTC."""

    @abstractmethod
    def tick_before(self, instant: datetime) -> datetime | None:
        """Return the last time earlier than `instant`, in UTC."""

    @property
    def partitions(self) -> bool:
        """An instant is no period."""
        return False

    @property
    def length(self) -> Period | None:
        """Nothing."""
        return EXACT

    @property
    def grain(self) -> Grain:
        """Times."""
        return Grain.TIMES

    def first_from(self, earliest: datetime) -> DataInterval | None:
        """Return the first time at or after `earliest`."""
        return _exact(self.tick_after(earliest - INSTANT))

    def following(self, last: DataInterval) -> DataInterval | None:
        """Return the first time after `last`."""
        return _exact(self.tick_after(last.end))

    def last_starting(self, before: datetime) -> DataInterval | None:
        """Return the last time before `before`."""
        return _exact(self.tick_before(before))

    def complete_by(self, moment: datetime) -> DataInterval:
        """Return the instant `moment`: a run by hand is about the time it is triggered for."""
        return DataInterval.exact(moment.astimezone(UTC))


def _exact(tick: datetime | None) -> DataInterval | None:
    return None if tick is None else DataInterval.exact(tick)


def countable(what: str, length: Period, often: Often) -> Period:
    """Return a length that can be counted from intervals that start so often.

    Days have 24 hours if there may be several intervals a day.  TimetableError for months if there
    may be several a month: those of 28 and of 31 January would end on one day.
    """
    if length.months and often < Often.ONCE_A_MONTH:
        raise TimetableError(
            f"{what} cannot be {length}: months differ in length, so that several runs would be "
            "about the same time. Give days, or let it run once a month."
        )
    return length if often else Period(length.months, 0, length.rest + timedelta(length.days))
