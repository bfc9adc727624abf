"""Cron strings around every change of clocks, held against two implementations that know no others.

One is written down here: the policy of docs/timetables.md, wall-clock minute by wall-clock
minute.  The other is cronsim, which follows Debian's cron, for times of fixed hours: there the
policies coincide.  (For patterns of every hour it loses half hours, and goes round for ever
where clocks are set back over midnight.)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Final, TypeAlias
from zoneinfo import available_timezones

from cronsim import CronSim

from headway.timetables.kinds.cron import CronTimetable, DataTimetable
from headway.timetables.sequence import runs_between
from headway.timetables.wall_clock.cron_pattern import CronPattern, parse
from headway.timetables.wall_clock.ticks import Ticks, ticks_of
from headway.timetables.wall_clock.zones import ClockChange, changes, find_zone

FIRST: Final = datetime(1990, 1, 1, tzinfo=UTC)
LAST: Final = datetime(2038, 1, 1, tzinfo=UTC)
AROUND: Final = timedelta(hours=36)
"""How much is looked at on either side of a change."""

MINUTE: Final = timedelta(minutes=1)

Face: TypeAlias = tuple[datetime, datetime, int]
"""A minute in UTC, what clocks show then, and which minute of their day that is."""


class Policy(Enum):
    """What becomes of a cron string's times where clocks are changed."""

    FIXED = "skipped times fire at the end of the gap, and those that come twice the first time"
    EVERY_FEW = "skipped times fire at the end of the gap, and those that come twice at both"
    EVERY_HOUR = "skipped times do not fire, and those that come twice do so at both"


CRONS: Final[Mapping[str, Policy]] = {
    "0 0 * * *": Policy.FIXED,
    "30 1 * * *": Policy.FIXED,
    "30 2 * * *": Policy.FIXED,
    "10,50 0-3,23 * * *": Policy.FIXED,
    "15 0,6,12,18 * * MON-FRI": Policy.FIXED,
    "0 12 1,15 * *": Policy.FIXED,
    "0 * * * *": Policy.EVERY_HOUR,
    "20,50 * * * *": Policy.EVERY_HOUR,
    "*/15 * * * *": Policy.EVERY_HOUR,
    "*/30 0-2,23 * * *": Policy.EVERY_FEW,
    "*/20 2 * * *": Policy.EVERY_FEW,
    "0 */2 * * *": Policy.EVERY_FEW,
}
"""The cron strings that are tried, each with what is expected of it: the code is not asked."""

DAILY: Final = ("0 0 * * *", "30 1 * * *", "30 2 * * *")
"""Those with one time every day."""


@dataclass(frozen=True, slots=True)
class Window:
    """The time around a change of the clocks of a zone."""

    zone: str
    change: ClockChange

    @property
    def start(self) -> datetime:
        """Where it begins, in UTC."""
        return self.change.at - AROUND

    @property
    def end(self) -> datetime:
        """Where it ends, in UTC."""
        return self.change.at + AROUND


def zones() -> list[str]:
    """Return all zones of tzdata."""
    return sorted(available_timezones())


def distinct_windows() -> dict[str, list[Window]]:
    """Return the windows of all zones; of those whose clocks were always changed alike, once."""
    found: dict[tuple[ClockChange, ...], list[Window]] = {}
    for zone in zones():
        around = windows(zone)
        found.setdefault(tuple(window.change for window in around), around)
    return {around[0].zone: around for around in found.values() if around}


def windows(zone: str) -> list[Window]:
    """Return the windows around all changes of a zone's clocks from 1990 to 2037."""
    found = list(changes(FIRST, LAST, find_zone(zone)))
    for one, other in pairwise(found):
        assert other.at - one.at > 2 * AROUND, f"{zone}: windows overlap at {other.at}"
    return [Window(zone, change) for change in found]


def problems(cron: str, window: Window) -> Iterator[str]:
    """Yield what is wrong with the ticks of a cron string in a window: nothing, it is hoped."""
    where = f"{cron!r} in {window.zone} around {window.change.at:%F %R}Z"
    ticks = ticks_of(cron, window.zone)
    found = list(_between(ticks, window))
    if any(other <= one for one, other in pairwise(found)):
        yield f"{where}: the ticks do not rise: {_told(found)}"
    if (expected := _expected(cron, window)) != found:
        yield f"{where}: expected {_told(expected)}, found {_told(found)}"
    if (back := list(_back(ticks, window))) != found[::-1]:
        yield f"{where}: the way back is another one: {_told(back)}"
    if CRONS[cron] is Policy.FIXED and (simulated := _simulated(cron, window)) != found:
        yield f"{where}: cronsim has {_told(simulated)}, found {_told(found)}"
    yield from _problems_of_intervals(cron, window, found, where)


def _between(ticks: Ticks, window: Window) -> Iterator[datetime]:
    tick = ticks.at_or_after(window.start)
    while tick < window.end:
        yield tick
        tick = ticks.after(tick)


def _back(ticks: Ticks, window: Window) -> Iterator[datetime]:
    tick = ticks.before(window.end)
    while tick >= window.start:
        yield tick
        tick = ticks.before(tick)


def _problems_of_intervals(
    cron: str, window: Window, ticks: list[datetime], where: str
) -> Iterator[str]:
    bounds = (window.start, window.start, window.end - MINUTE)
    infos = list(runs_between(DataTimetable(cron, timezone=window.zone), *bounds))
    exact = list(runs_between(CronTimetable(cron, window.zone), *bounds))
    if [info.data_interval.start for info in infos] != ticks:
        yield f"{where}: intervals start elsewhere than at its ticks"
    if any(one.run_after != other.data_interval.start for one, other in pairwise(infos)):
        yield f"{where}: intervals do not follow each other without a hole"
    if [info.run_after for info in exact] != ticks:
        yield f"{where}: exact runs are elsewhere than at its ticks"
    days = DataTimetable(cron, "P1D", window.zone)
    spans = [info.data_interval for info in runs_between(days, *bounds)]
    if [span.start for span in spans] != ticks:
        yield f"{where}: days start elsewhere than at its ticks"
    if cron in DAILY and any(one.end != other.start for one, other in pairwise(spans)):
        yield f"{where}: days do not follow each other without a hole"


@lru_cache(maxsize=2)
def _faces(window: Window) -> tuple[list[Face], list[Face], list[Face]]:
    """Return each minute and what clocks show then: before the change, after it, and skipped."""
    at, change = window.change.at.replace(tzinfo=None), window.change
    minutes = AROUND // MINUTE
    before = [(at - n * MINUTE, change.before - n * MINUTE) for n in range(1, minutes + 1)]
    after = [(at + n * MINUTE, change.after + n * MINUTE) for n in range(minutes)]
    gap = max(0, (change.after - change.before) // MINUTE)
    skipped = [(at, change.before + n * MINUTE) for n in range(gap)]
    return _with_minutes(before), _with_minutes(after), _with_minutes(skipped)


def _with_minutes(faces: list[tuple[datetime, datetime]]) -> list[Face]:
    return [(at, wall, wall.hour * 60 + wall.minute) for at, wall in faces]


def _expected(cron: str, window: Window) -> list[datetime]:
    """Return when the policy has a cron string fire, by looking at every minute."""
    pattern, policy = parse(cron), CRONS[cron]
    before, after, skipped = (_firing(pattern, faces) for faces in _faces(window))
    first = {**after, **before}  # a wall-clock time that comes twice came before the change
    fired = {*first.values()}
    if policy is not Policy.FIXED:
        fired |= {*after.values()}
    if skipped and policy is not Policy.EVERY_HOUR:
        fired.add(window.change.at.replace(tzinfo=None))
    return sorted(at.replace(tzinfo=UTC) for at in fired)


def _firing(pattern: CronPattern, faces: list[Face]) -> dict[datetime, datetime]:
    """Return those of the wall-clock times that the pattern has, each with its minute."""
    minutes = set(pattern.minutes)
    return {wall: at for at, wall, of_day in faces if of_day in minutes and pattern.includes(wall)}


def _simulated(cron: str, window: Window) -> list[datetime]:
    start = (window.start - MINUTE).astimezone(find_zone(window.zone))
    found = (tick.astimezone(UTC) for tick in CronSim(cron, start))
    return [
        tick for tick in takewhile(lambda tick: tick < window.end, found) if tick >= window.start
    ]


def _told(ticks: list[datetime]) -> str:
    return ", ".join(f"{tick:%d %R}" for tick in ticks)
