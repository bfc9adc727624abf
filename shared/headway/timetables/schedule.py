"""What a DAG's author may pass as `schedule`, turned into a timetable."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.errors import TimetableError, brief
from headway.timetables.base import Timetable
from headway.timetables.kinds.cron import CronTimetable, DataTimetable
from headway.timetables.kinds.delta import PeriodTimetable, TimeDeltaTimetable
from headway.timetables.kinds.simple import ContinuousTimetable, NullTimetable, OnceTimetable
from headway.timetables.wall_clock.cron_pattern import PRESETS
from headway.timetables.wall_clock.durations import Length, Period, is_duration, read_length
from headway.timetables.wall_clock.zones import find_zone

_WITHOUT_RHYTHM: Final[Mapping[str, Timetable]] = {
    "@once": OnceTimetable(),
    "@continuous": ContinuousTimetable(),
}


def timetable_for(
    schedule: object, timezone: str, semantics: CronSemantics = CronSemantics.INTERVAL
) -> Timetable:
    """Return the timetable that `schedule` means for a DAG in the zone of that name.

    It may be a cron string, a preset, a timedelta or a relativedelta, ISO 8601 text for one of
    them, a timetable, or None for a DAG that only runs by hand; TimetableError says what is
    wrong with anything else.  `semantics` is for a cron string, and for a preset that is one.
    """
    find_zone(timezone)
    if schedule is None:
        return NullTimetable()
    if isinstance(schedule, Timetable):
        return schedule.in_zone(timezone)
    if isinstance(schedule, str) and not schedule.startswith("P"):
        return _by_text(schedule, timezone, semantics)
    if isinstance(schedule, str) or is_duration(schedule):
        return _by_length(read_length("The period of a schedule", schedule), timezone)
    raise TimetableError(
        f"The schedule {brief(schedule, 100)} is of type {type(schedule).__name__}; it may be a "
        "cron string such as '30 6 * * MON-FRI', a preset such as '@daily', "
        "a timedelta or a relativedelta, a timetable, or None for a DAG that only runs by hand."
    )


def _by_length(length: Length, timezone: str) -> Timetable:
    if isinstance(length, Period):
        return PeriodTimetable(length, timezone)
    return TimeDeltaTimetable(length)


def is_cron(schedule: object) -> bool:
    """Tell whether a schedule is a cron string, or a preset that stands for one."""
    if not isinstance(schedule, str) or schedule.startswith("P"):
        return False
    return schedule.strip().lower() not in _WITHOUT_RHYTHM


def _is_other(schedule: str) -> bool:
    """Whether it is a preset, or a duration."""
    if not schedule.startswith("P"):
        return schedule in _WITHOUT_RHYTHM or schedule in PRESETS
    with suppress(TimetableError):
        return bool(read_length("The period of a schedule", schedule))
    return False


def _by_text(schedule: str, timezone: str, semantics: CronSemantics) -> Timetable:
    name = schedule.strip().lower()
    if name in _WITHOUT_RHYTHM:
        return _WITHOUT_RHYTHM[name]
    near = next((spelling for spelling in (f"@{name}", name.upper()) if _is_other(spelling)), None)
    if near is not None:
        raise TimetableError(f"The schedule {brief(schedule)} is none. Did you mean {near!r}?")
    if name.startswith("@") and name not in PRESETS:
        presets = ", ".join([*_WITHOUT_RHYTHM, *PRESETS])
        raise TimetableError(f"The schedule {brief(schedule)} is no preset; they are {presets}.")
    if semantics is CronSemantics.TRIGGER:
        return CronTimetable(schedule, timezone)
    return DataTimetable(schedule, timezone=timezone)
