"""Timetables as data, and back: by registered name, never by a class path."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from headway.domain.arguments import JsonValue, nests_at_most
from headway.domain.dag.spec import TimetableSpec
from headway.domain.errors import TimetableError, brief
from headway.timetables.base import Arguments, Timetable
from headway.timetables.kinds.boolean import BooleanTimetable
from headway.timetables.kinds.combined import Union
from headway.timetables.kinds.cron import CronTimetable, DataTimetable, MultipleCronTimetable
from headway.timetables.kinds.days import Holidays, TradingDays, Workdays
from headway.timetables.kinds.delta import PeriodTimetable, TimeDeltaTimetable
from headway.timetables.kinds.events import EventsTimetable
from headway.timetables.kinds.paydays import LastWorkdayOnOrBefore
from headway.timetables.kinds.selected import Exclusion, Intersection
from headway.timetables.kinds.simple import ContinuousTimetable, NullTimetable, OnceTimetable
from headway.timetables.kinds.solar import Sunrise, Sunset
from headway.timetables.kinds.wrapped import Delayed, RollingWindow
from headway.timetables.wall_clock.effort import ExhaustedError, limited

BUILT_IN: Final[Mapping[str, type[Timetable]]] = {
    timetable.name: timetable
    for timetable in (
        BooleanTimetable,
        ContinuousTimetable,
        CronTimetable,
        DataTimetable,
        Delayed,
        EventsTimetable,
        Exclusion,
        Holidays,
        Intersection,
        LastWorkdayOnOrBefore,
        MultipleCronTimetable,
        NullTimetable,
        OnceTimetable,
        PeriodTimetable,
        RollingWindow,
        Sunrise,
        Sunset,
        TimeDeltaTimetable,
        TradingDays,
        Union,
        Workdays,
    )
}

_FEW_ARGUMENTS: Final = frozenset(
    {ContinuousTimetable, CronTimetable, DataTimetable, NullTimetable, OnceTimetable}
)

_SHORT: Final = 100
"""Characters of a text, such as a cron string, that takes little effort to read."""

ENTRY_POINTS: Final = "headway.timetables"
"""The group of entry points under which a package registers timetables of its own."""

DEEPEST: Final = 16
"""Levels of timetables within timetables beyond which one is refused."""

MOST_LEVELS: Final = 100
"""Levels of lists and maps in the arguments of a timetable beyond which it is refused.

A union in a union is three of them, and a boolean expression has one for each of its own: those
that are allowed fit in, and whoever reads the DAG allows as many.
"""

MOST: Final = 300
"""Timetables within one beyond which it is refused."""


def encode(timetable: Timetable) -> TimetableSpec:
    """Return the timetable as data, or raise TimetableError when its class is not registered."""
    for part in _parts(timetable):
        kind = type(part)
        if BUILT_IN.get(kind.name) is not kind and _installed(kind.name) is not kind:
            raise TimetableError(
                f"The timetable {kind.__name__} is not registered, so no scheduler could use it. "
                f"Use one of {', '.join(sorted(BUILT_IN))}, or register it as an entry point "
                f"{kind.name!r} of the group {ENTRY_POINTS!r} in a package of yours."
            )
    spec = TimetableSpec(name=timetable.name, arguments=timetable.arguments())
    if not _is_surely_read(type(timetable), spec):
        _decode(spec)  # what is stored must be read again
    return spec


def _is_surely_read(kind: type[Timetable], spec: TimetableSpec) -> bool:
    """Tell whether a timetable has only a few short arguments; tests read each such kind again."""
    if BUILT_IN.get(spec.name) is not kind:
        return False
    values = spec.arguments.values()
    return kind in _FEW_ARGUMENTS and all(
        value is None or (isinstance(value, str) and len(value) <= _SHORT) for value in values
    )


def decode(spec: TimetableSpec) -> Timetable:
    """Return the timetable that `spec` stands for and that can be used here, or TimetableError."""
    timetable = _decode(spec)
    timetable.check()
    return timetable


def _decode(spec: TimetableSpec) -> Timetable:
    if not nests_at_most(spec.arguments, MOST_LEVELS):
        raise TimetableError(
            f"The arguments of the timetable {brief(spec.name)} are lists and maps nested more "
            f"than {MOST_LEVELS} levels deep; nest fewer timetables, or operators, in each other."
        )
    with limited():
        return _Decoding().decode(spec.name, spec.arguments)
    raise TimetableError(
        "The timetable is too large: its dates, cron strings and boolean expressions together "
        "are more than a scheduler could read in time. Give fewer of them, or divide the DAG."
    )


class _Decoding:
    """Reads one timetable with those in it, counting them."""

    def __init__(self) -> None:
        self._left, self._depth = MOST, 0

    def decode(self, name: str, values: Mapping[str, JsonValue]) -> Timetable:
        self._left -= 1
        if self._left < 0 or self._depth >= DEEPEST:
            raise TimetableError(
                f"A timetable has at most {MOST} timetables in it, {DEEPEST} levels deep."
            )
        self._depth += 1
        arguments = Arguments(name, values, self.decode)
        timetable = _made(find(name), arguments)
        arguments.check_all_taken()
        self._depth -= 1
        return timetable


def _made(kind: type[Timetable], arguments: Arguments) -> Timetable:
    try:
        return kind.from_arguments(arguments)
    except (TimetableError, ExhaustedError):
        raise
    except Exception as error:  # what is stored must not stop who reads it, whoever's code that is
        raise arguments.error(f"they fail with {brief(error, 200)}") from error


def find(name: str) -> type[Timetable]:
    """Return the timetable registered under a name, or raise TimetableError."""
    kind = BUILT_IN.get(name) or _installed(name)
    if kind is None:
        raise TimetableError(
            f"The timetable {brief(name)} is unknown here; known are "
            f"{', '.join(sorted(BUILT_IN))}. Install the release of Headway, or the package, that "
            "it comes from."
        )
    return kind


@cache
def _installed(name: str) -> type[Timetable] | None:
    """Return the timetable that an installed package has registered under that name, if any."""
    from importlib.metadata import entry_points

    for entry_point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            kind = entry_point.load()
        except Exception as error:  # it is another package's code
            raise TimetableError(
                f"The timetable {name!r} cannot be loaded from {entry_point.value!r}: {error!r}."
            ) from error
        if not isinstance(kind, type) or not issubclass(kind, Timetable) or kind.name != name:
            raise TimetableError(
                f"The entry point {name!r} of {ENTRY_POINTS!r} must be a subclass of "
                f"headway.timetables.base.Timetable whose `name` is {name!r}."
            )
        return kind
    return None


def installed() -> dict[str, str]:
    """Return what installed packages register: the names of classes, and those registered.

    Each comes with the name under which `find` knows it.
    """
    from importlib.metadata import entry_points

    found = sorted(entry_points(group=ENTRY_POINTS))
    return {entry_point.attr: entry_point.name for entry_point in found} | {
        entry_point.name: entry_point.name for entry_point in found
    }


def _parts(timetable: Timetable) -> Iterator[Timetable]:
    yield timetable
    for child in timetable.children:
        yield from _parts(child)
