"""What the date of a run is, where a schedule is a cron string or a preset."""

from enum import StrEnum

from headway.domain.dag.spec import TimetableSpec

_TRIGGER = "cron"
"""The timetable that a cron string becomes by `trigger`, as it is stored."""


class CronSemantics(StrEnum):
    """What `ds` is: the start of an interval that is over, or the time of the run."""

    INTERVAL = "interval"
    TRIGGER = "trigger"


def stored_in(timetable: TimetableSpec) -> CronSemantics:
    """Return what makes the stored timetable again, if a cron string was what it was made of."""
    return CronSemantics.TRIGGER if timetable.name == _TRIGGER else CronSemantics.INTERVAL
