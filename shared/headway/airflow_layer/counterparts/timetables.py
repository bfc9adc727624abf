"""Timetables by Airflow's names and arguments; each makes one of Headway's."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta, tzinfo

from headway.domain.errors import TimetableError
from headway.timetables.base import Timetable
from headway.timetables.kinds.cron import CronTimetable, DataTimetable, MultipleCronTimetable
from headway.timetables.kinds.delta import PeriodTimetable, TimeDeltaTimetable
from headway.timetables.kinds.events import EventsTimetable as Events
from headway.timetables.wall_clock.durations import Duration

_NOTHING = timedelta(0)


def CronTriggerTimetable(  # noqa: N802 - Airflow's name
    cron: str,
    *,
    timezone: str | tzinfo = "UTC",
    interval: Duration = _NOTHING,
    run_immediately: bool | timedelta = True,  # noqa: ARG001 - of no meaning with a start date
) -> Timetable:
    """Return a timetable with a run at each tick, about that instant."""
    _refuse_interval("CronTriggerTimetable", interval)
    return CronTimetable(cron, _zone(timezone))


def MultipleCronTriggerTimetable(  # noqa: N802
    *crons: str,
    timezone: str | tzinfo = "UTC",
    interval: Duration = _NOTHING,
    run_immediately: bool | timedelta = False,  # noqa: ARG001
) -> Timetable:
    """Return a timetable with a run at each tick of several cron strings."""
    _refuse_interval("MultipleCronTriggerTimetable", interval)
    return MultipleCronTimetable(list(crons), _zone(timezone))


def CronDataIntervalTimetable(cron: str, timezone: str | tzinfo = "UTC") -> Timetable:  # noqa: N802
    """Return a timetable whose runs are about the time between two ticks."""
    return DataTimetable(cron, None, _zone(timezone))


def DeltaDataIntervalTimetable(delta: Duration) -> Timetable:  # noqa: N802
    """Return a timetable whose runs are about periods of equal length."""
    if isinstance(delta, timedelta):
        return TimeDeltaTimetable(delta)
    return PeriodTimetable(delta)


def EventsTimetable(  # noqa: N802
    event_dates: Iterable[datetime | date],
    restrict_to_events: bool = False,  # noqa: ARG001 - it is about runs by hand alone
    presorted: bool = False,  # noqa: ARG001
    description: str | None = None,  # noqa: ARG001
) -> Timetable:
    """Return a timetable with a run at each of these dates."""
    return Events(event_dates)


def _refuse_interval(name: str, interval: Duration) -> None:
    if interval:
        raise TimetableError(
            f"{name}: Headway has no interval that ends at the tick; leave interval out and take "
            "the time before data_interval_end inside the task, or use CronDataIntervalTimetable."
        )


def _zone(timezone: str | tzinfo) -> str:
    return timezone if isinstance(timezone, str) else str(getattr(timezone, "key", timezone))
