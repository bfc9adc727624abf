"""Time zones: what the clocks of a place show, and when they show it.

Twice a year the clocks of many places are changed.  When they are set forward, some
wall-clock times are skipped (a gap); when they are set back, some occur twice (a fold).
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from headway.domain.errors import TimetableError, brief

_A_DAY: Final = timedelta(days=1)


def find_zone(name: object) -> ZoneInfo:
    """Return the time zone of that IANA name, or raise TimetableError."""
    if isinstance(name, str) and name:
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            pass
    raise TimetableError(
        f"{brief(name)} is no time zone; give a name of the IANA database, "
        "for example 'UTC' or 'America/New_York'."
    )


def occurrences(wall: datetime, zone: ZoneInfo) -> tuple[datetime, ...]:
    """Return when the clocks show `wall`, in UTC: never in a gap, twice in a fold, else once."""
    first = wall.replace(tzinfo=zone).astimezone(UTC)
    second = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if first == second:
        return (first,)
    return (first, second) if first < second else ()


def end_of_gap(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant at which the clocks were set forward past the skipped time `wall`."""
    # In a gap fold=1 reads the offset after the change, which yields an instant before it.
    before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    after = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)

    def changed(seconds: int) -> bool:
        return _offset(before + timedelta(seconds=seconds), zone) != _offset(before, zone)

    span = int((after - before).total_seconds())
    return before + timedelta(seconds=bisect_left(range(span), True, key=changed))


def ends_gap(instant: datetime, zone: ZoneInfo) -> bool:
    """Whether the clocks are set forward at that instant."""
    before, after = _offset(instant - timedelta.resolution, zone), _offset(instant, zone)
    assert before is not None
    assert after is not None
    return before < after


def first_at(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant at which the clocks first show `wall`, or have skipped it."""
    return (occurrences(wall, zone) or (end_of_gap(wall, zone),))[0]


def shown(instant: datetime, meant: datetime | None, zone: ZoneInfo) -> datetime:
    """Return what clocks show at an instant, or `meant` if that is what they have skipped then."""
    if meant is not None and meant.tzinfo is zone:
        return meant
    return instant.astimezone(zone)


def readings(instant: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the lowest and the highest wall-clock time that stands for `instant`.

    They differ only in a fold, by its length: what the clocks show with the offset after
    the change, and with the one before it.
    """
    local = instant.astimezone(zone)
    first, second = local.utcoffset(), local.replace(fold=1 - local.fold).utcoffset()
    assert first is not None
    assert second is not None
    utc = instant.astimezone(UTC).replace(tzinfo=None)
    return utc + min(first, second), utc + max(first, second)


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A change of clocks: when, and what they showed and show at that instant."""

    at: datetime
    before: datetime
    after: datetime


def changes(since: datetime, until: datetime, zone: ZoneInfo) -> Iterator[ClockChange]:
    """Yield the changes of clocks in `(since, until]`; two within a day may be left out."""
    while since < until:
        step = min(since + _A_DAY, until)
        if _offset(since, zone) != _offset(step, zone):
            yield _change(since, step, zone)
        since = step


def _change(since: datetime, until: datetime, zone: ZoneInfo) -> ClockChange:
    before, start = _offset(since, zone), since.replace(microsecond=0)

    def changed(seconds: int) -> bool:
        return _offset(start + timedelta(seconds=seconds), zone) != before

    span = int((until - start).total_seconds()) + 1
    at = start + timedelta(seconds=bisect_left(range(span), True, key=changed))
    utc, after = at.astimezone(UTC).replace(tzinfo=None), _offset(at, zone)
    assert before is not None
    assert after is not None
    return ClockChange(at, utc + before, utc + after)


def _offset(instant: datetime, zone: ZoneInfo) -> timedelta | None:
    return instant.astimezone(zone).utcoffset()
