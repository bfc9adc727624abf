"""Time zones: what the clocks of a place show, and when they show it.

Twice a year the clocks of many places are changed.  When they are set forward, some
wall-clock times are skipped (a gap); when they are set back, some occur twice (a fold).
"""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from headway.domain.errors import TimetableError


def find_zone(name: object) -> ZoneInfo:
    """Return the time zone of that IANA name, or raise TimetableError."""
    if isinstance(name, str) and name:
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            pass
    raise TimetableError(
        f"{name!r} is no time zone; give a name of the IANA database, "
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


def _offset(instant: datetime, zone: ZoneInfo) -> timedelta | None:
    return instant.astimezone(zone).utcoffset()
