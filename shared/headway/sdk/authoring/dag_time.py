"""What a DAG can answer about its own time."""

import warnings
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from headway.sdk.running.old_names import OldNameWarning
from headway.sdk.values import checks

if TYPE_CHECKING:
    from headway.domain.dag.spec import DagSpec
    from headway.domain.interval import DataInterval
    from headway.timetables.base import DagRunInfo, TimeRestriction, Timetable

_CALLER: Final = 3


class DagTime:
    """The part of a DAG that is about time; dates must have a time zone."""

    dag_id: str
    spec: "DagSpec"

    @property
    def timetable(self) -> "Timetable":
        """When it runs."""
        from headway.timetables import registry

        return registry.decode(self.spec.timetable)

    def next_dagrun_info(
        self,
        last_automated_dagrun: "datetime | DataInterval | None",
        *,
        restricted: bool = True,
        now: datetime | None = None,
    ) -> "DagRunInfo | None":
        """Return the run after that one, which is named by its interval, or where that starts.

        None means that there is none as things stand.  `restricted` keeps to the DAG's dates.
        Without catchup what was missed by `now` is skipped.
        """
        from headway.runtime.daemon.clock import SystemClock

        bounds = self._bounds() if restricted else self._bounds(None, None)
        moment = SystemClock().now() if now is None else self._instant(now, "now")
        last = self._interval(last_automated_dagrun)
        return self.timetable.next_dagrun_info(last, bounds, moment)

    def iter_dagrun_infos_between(
        self, earliest: datetime | None, latest: datetime
    ) -> "Iterator[DagRunInfo]":
        """Yield the runs whose interval starts in `[earliest, latest]`, within the DAG's dates.

        Without `earliest` they begin with the DAG's start date.
        """
        from headway.timetables.sequence import runs_from

        first = self.spec.start_date if earliest is None else self._instant(earliest, "earliest")
        last = self._instant(latest, "latest")
        if first is None:
            raise ValueError(f"{self._where}: without a start_date, pass an earliest date.")
        for info in runs_from(self.timetable, self._bounds(), first):
            if info.data_interval.start > last:
                break
            yield info

    def on_schedule(self, date: datetime) -> bool:
        """Whether a run of the schedule is about the interval that starts on that date."""
        from headway.timetables.sequence import runs_from

        moment = self._instant(date, "date")
        for info in runs_from(self.timetable, self._bounds(), moment):
            return info.data_interval.start == moment
        return False

    def following_schedule(self, dttm: datetime) -> datetime | None:
        """Return where the first interval begins after that date.  Use `next_dagrun_info`."""
        _warn("following_schedule", "next_dagrun_info")
        info = self.run_after(dttm)
        return None if info is None else info.data_interval.start

    def previous_schedule(self, dttm: datetime) -> datetime | None:
        """Return where the last interval begins before that date.  Use `next_dagrun_info`."""
        _warn("previous_schedule", "iter_dagrun_infos_between")
        info = self.run_before(dttm)
        return None if info is None else info.data_interval.start

    def run_after(self, start: datetime) -> "DagRunInfo | None":
        """Return the first run of the schedule whose interval starts later than `start`."""
        from headway.timetables.sequence import runs_from

        moment = self._instant(start, "start") + timedelta.resolution
        return next(runs_from(self.timetable, self._bounds(), moment), None)

    def run_before(self, start: datetime) -> "DagRunInfo | None":
        """Return the last run of the schedule whose interval starts earlier than `start`."""
        from headway.timetables.sequence import run_before

        return run_before(self.timetable, self._bounds(), self._instant(start, "start"))

    def run_ending_after(self, end: datetime) -> "DagRunInfo | None":
        """Return the first run of the schedule whose interval ends later than `end`.

        It is the one after the run over an interval that ends then, however long that is.
        """
        from headway.timetables.sequence import run_ending_after

        return run_ending_after(self.timetable, self._bounds(), self._instant(end, "end"))

    @property
    def _where(self) -> str:
        return f"DAG {self.dag_id!r}"

    def _instant(self, date: datetime, name: str) -> datetime:
        return checks.instant(date, f"{self._where}: {name}")

    def _bounds(self, *dates: datetime | None) -> "TimeRestriction":
        from headway.timetables.base import TimeRestriction

        earliest, latest = dates or (self.spec.start_date, self.spec.end_date)
        return TimeRestriction(earliest, latest, self.spec.catchup)

    def _interval(self, last: "datetime | DataInterval | None") -> "DataInterval | None":
        from headway.domain.interval import DataInterval
        from headway.timetables.sequence import runs_from

        if last is None:
            return None
        if isinstance(last, DataInterval):
            return DataInterval(self._instant(last.start, "start"), self._instant(last.end, "end"))
        moment = self._instant(last, "last_automated_dagrun")
        for info in runs_from(self.timetable, self._bounds(), moment):
            if info.data_interval.start == moment:
                return info.data_interval
            break
        raise ValueError(
            f"{self._where} has no run about the interval that starts at {moment}; pass the "
            "interval itself."
        )


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is the old way; use {new}.", OldNameWarning, stacklevel=_CALLER)
