"""Timetables by Airflow's names and arguments; each makes one of Headway's."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta, tzinfo

from headway.airflow_layer.notes import note
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
    run_immediately: bool | timedelta = True,
) -> Timetable:
    """Return a timetable with a run at each tick, about that instant."""
    _refuse_interval("CronTriggerTimetable", interval)
    if run_immediately is not True:
        _note_first_run(run_immediately)
    return CronTimetable(cron, _zone(timezone))


def MultipleCronTriggerTimetable(  # noqa: N802
    *crons: str,
    timezone: str | tzinfo = "UTC",
    interval: Duration = _NOTHING,
    run_immediately: bool | timedelta = False,
) -> Timetable:
    """Return a timetable with a run at each tick of several cron strings."""
    _refuse_interval("MultipleCronTriggerTimetable", interval)
    if run_immediately:
        _note_first_run(run_immediately)
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
    restrict_to_events: bool = False,
    presorted: bool = False,  # noqa: ARG001 - they are sorted in any case
    description: str | None = None,
) -> Timetable:
    """Return a timetable with a run at each of these dates."""
    if restrict_to_events:
        note(
            "restrict_to_events",
            "restrict_to_events has no effect: a run by hand has the date that it is given.",
        )
    if description is not None:
        note(
            "events_description",
            "The description of an EventsTimetable has no effect; give the DAG a description.",
        )
    return Events(event_dates)


def _note_first_run(given: bool | timedelta) -> None:
    note(
        "run_immediately",
        f"run_immediately={given} has no effect: catchup says which runs before now there are, "
        'catchup="latest" the last of them.',
    )


def _refuse_interval(name: str, interval: Duration) -> None:
    if interval:
        raise TimetableError(
            f"{name}: Headway has no interval that ends at the tick; leave interval out and take "
            "the time before data_interval_end inside the task, or use CronDataIntervalTimetable."
        )


def _zone(timezone: str | tzinfo) -> str:
    return timezone if isinstance(timezone, str) else str(getattr(timezone, "key", timezone))
