"""The runs to come of a timetable, with what is unusual about each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo, TimeRestriction, Timetable
from headway.timetables.wall_clock.effort import limited
from headway.timetables.wall_clock.zones import ClockChange, changes, occurrences

_DAY: Final = timedelta(days=1)
_MOST_NAMED: Final = 3
"""Days that are skipped and named; more are counted."""


@dataclass(frozen=True, slots=True)
class Coming:
    """A run to come, and what there is to say of it."""

    info: DagRunInfo
    notes: tuple[str, ...]


def coming(
    runs: Iterable[DagRunInfo], zone: ZoneInfo, last: DataInterval | None = None
) -> Iterator[Coming]:
    """Yield runs, which come after the one over `last`, oldest first.

    Notes tell changes of the zone's clocks since the run before or within the interval, what
    is moved or ambiguous by them, and the days that are skipped.
    """
    for info in runs:
        yield Coming(info, tuple(_notes(info, last, zone)))
        last = info.data_interval


def why_no_more(
    timetable: Timetable, shown: Sequence[Coming], bounds: TimeRestriction, now: datetime
) -> str | None:
    """Return what to say where there is no run at all, or none after these that is found."""
    last = shown[-1].info.data_interval if shown else None
    with limited() as effort:
        timetable.next_dagrun_info(last, bounds, now)
    if effort.left < 0:
        return (
            "The search for the next run was given up, as a scheduler would: the parts of the "
            "timetable seem to have nothing in common."
        )
    none = ["There is no run within these dates and the years 2 to 9998."] if last is None else []
    return " ".join([*none, *timetable.remarks]) or None


def _notes(info: DagRunInfo, last: DataInterval | None, zone: ZoneInfo) -> Iterator[str]:
    interval = info.data_interval
    first = interval.start - timedelta.resolution  # a change at that very moment is told of it
    since = first if last is None else min(interval.start, last.end)
    for change in changes(since, info.run_after, zone):
        yield _told(change)
        if change.after < change.before:
            continue
        if change.at == info.run_after:
            yield "gap: runs when it ends"
        elif change.at == interval.end:  # of a delayed run
            yield "gap: its interval ends when it does"
    both = occurrences(info.run_after.astimezone(zone).replace(tzinfo=None, fold=0), zone)
    if len(both) > 1:
        yield f"fold: the {'first' if info.run_after == both[0] else 'second'} of two"
    if last is not None:
        yield from _skipped(last, interval, zone)


def _told(change: ClockChange) -> str:
    low, high = sorted((change.before, change.after))
    over = (
        f"{low:%F %R} to {high:%R}" if low.date() == high.date() else f"{low:%F %R} to {high:%F %R}"
    )
    return (
        f"gap: {over} is skipped" if change.after > change.before else f"fold: {over} comes twice"
    )


def _skipped(last: DataInterval, interval: DataInterval, zone: ZoneInfo) -> Iterator[str]:
    """Tell of the days between two intervals that neither has any part of."""
    covered = last.end if last.start == last.end else last.end - timedelta.resolution
    first = covered.astimezone(zone).date() + _DAY
    days = (interval.start.astimezone(zone).date() - first).days
    if 0 < days <= _MOST_NAMED:
        yield f"skipped: {', '.join(f'{first + n * _DAY:%F}' for n in range(days))}"
    elif days > 0:
        yield f"skipped: {days} days"
