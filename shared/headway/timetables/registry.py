"""Timetables as data, and back: by registered name, never by a class path."""

from collections.abc import Mapping
from typing import Final

from headway.domain.errors import TimetableError
from headway.domain.spec import TimetableSpec
from headway.timetables.arguments import Arguments
from headway.timetables.base import Timetable
from headway.timetables.cron import CronTimetable, DataTimetable
from headway.timetables.delta import TimeDeltaTimetable
from headway.timetables.simple import ContinuousTimetable, NullTimetable, OnceTimetable

BUILT_IN: Final[Mapping[str, type[Timetable]]] = {
    timetable.name: timetable
    for timetable in (
        ContinuousTimetable,
        CronTimetable,
        DataTimetable,
        NullTimetable,
        OnceTimetable,
        TimeDeltaTimetable,
    )
}


def encode(timetable: Timetable, known: Mapping[str, type[Timetable]] = BUILT_IN) -> TimetableSpec:
    """Return the timetable as data, or raise TimetableError when its class is not registered."""
    kind = type(timetable)
    if kind not in known.values():
        raise TimetableError(
            f"The timetable {kind.__name__} is not registered, so no scheduler could use it. "
            f"Use one of {_names(known)}."
        )
    return TimetableSpec(name=kind.name, arguments=timetable.arguments())


def decode(spec: TimetableSpec, known: Mapping[str, type[Timetable]] = BUILT_IN) -> Timetable:
    """Return the timetable that `spec` stands for, or raise TimetableError."""
    kind = known.get(spec.name)
    if kind is None:
        raise TimetableError(
            f"The timetable {spec.name!r} is unknown here; known are {_names(known)}. "
            "Install the release of Headway, or the package, that it comes from."
        )
    arguments = Arguments(spec.name, spec.arguments)
    timetable = kind.from_arguments(arguments)
    arguments.check_all_taken()
    return timetable


def _names(known: Mapping[str, type[Timetable]]) -> str:
    return ", ".join(sorted(known))
