"""What a DAG's author may pass as `schedule`, turned into a timetable."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from headway.domain.errors import TimetableError
from headway.timetables.base import Timetable
from headway.timetables.cron import DataTimetable
from headway.timetables.cron_pattern import PRESETS
from headway.timetables.delta import TimeDeltaTimetable
from headway.timetables.simple import ContinuousTimetable, NullTimetable, OnceTimetable
from headway.timetables.zones import find_zone

_WITHOUT_RHYTHM: Final[Mapping[str, Timetable]] = {
    "@once": OnceTimetable(),
    "@continuous": ContinuousTimetable(),
}


def timetable_for(schedule: object, timezone: str) -> Timetable:
    """Return the timetable that `schedule` means for a DAG in the zone of that name.

    It may be a cron string, a preset, a timedelta, a timetable, or None for a DAG that
    only runs by hand; TimetableError says what is wrong with anything else.
    """
    find_zone(timezone)
    match schedule:
        case None:
            return NullTimetable()
        case Timetable():
            return schedule
        case timedelta():
            return TimeDeltaTimetable(schedule)
        case str():
            return _by_text(schedule, timezone)
        case _:
            raise TimetableError(
                f"The schedule {schedule!r} is of type {type(schedule).__name__}; it may be a "
                "cron string such as '30 6 * * MON-FRI', a preset such as '@daily', "
                "a timedelta, a timetable, or None for a DAG that only runs by hand."
            )


def _by_text(schedule: str, timezone: str) -> Timetable:
    name = schedule.strip().lower()
    if name in _WITHOUT_RHYTHM:
        return _WITHOUT_RHYTHM[name]
    if name.startswith("@") and name not in PRESETS:
        presets = ", ".join([*_WITHOUT_RHYTHM, *PRESETS])
        raise TimetableError(f"The schedule {schedule!r} is no preset; they are {presets}.")
    return DataTimetable(schedule, timezone)
