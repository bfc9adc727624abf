"""What all timetables have in common whose intervals follow each other without end."""

from abc import abstractmethod
from datetime import datetime

from headway.domain.errors import TimetableError
from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo, TimeRestriction, Timetable


class Recurring(Timetable):
    """A timetable without end; a subclass says where its intervals start and end."""

    __slots__ = ()

    @abstractmethod
    def starting_at(self, start: datetime) -> DataInterval:
        """Return the interval that starts at `start`."""

    @abstractmethod
    def start_following(self, last: DataInterval) -> datetime:
        """Return where the interval after `last` starts.

        After a change of schedule `last` may be an interval of another timetable.
        """

    @abstractmethod
    def align(self, earliest: datetime) -> datetime:
        """Return the first start at or after `earliest`."""

    @abstractmethod
    def skip_missed(self, start: datetime | None, now: datetime) -> datetime:
        """Return the start of the latest interval complete by `now`, or `start` if later."""

    @abstractmethod
    def complete_by(self, moment: datetime) -> DataInterval:
        """Return the latest interval that is over by `moment`, for a manual run."""

    def next_dagrun_info(
        self, last: DataInterval | None, restriction: TimeRestriction, now: datetime
    ) -> DagRunInfo | None:
        """Return the run over the interval that follows `last` within the restriction.

        Without `last`, `earliest` and the leave to skip what was missed there is no
        first interval, hence None.
        """
        try:
            start = self._next_start(last, restriction, now)
            if start is None or restriction.is_past(start):
                return None
            return DagRunInfo.once_over(self.starting_at(start))
        except OverflowError:  # the calendar ends with the year 9999
            return None

    def infer_manual_data_interval(self, run_after: datetime) -> DataInterval:
        """Return the latest interval that is complete at `run_after`."""
        try:
            return self.complete_by(run_after)
        except OverflowError as error:
            raise TimetableError(
                f"No data interval ends before {run_after}, the beginning of the calendar; "
                "trigger the run for a later date."
            ) from error

    def _next_start(
        self, last: DataInterval | None, restriction: TimeRestriction, now: datetime
    ) -> datetime | None:
        start = None if last is None else self.start_following(last)
        earliest = restriction.earliest
        if earliest is not None and (start is None or start < earliest):
            start = self.align(earliest)
        return start if restriction.catchup else self.skip_missed(start, now)
