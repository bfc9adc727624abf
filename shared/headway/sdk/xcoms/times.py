"""Dates, times and durations in XComs.

A date of pendulum arrives as one of pendulum.  A time zone arrives under its name; one that
has no name arrives as the offset that it had at that time.
"""

from datetime import date, datetime, time, timedelta
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

from headway.domain.arguments import TAG, JsonValue
from headway.domain.xcoms import XComKind

PENDULUM: Final = "pendulum"
ZONE: Final = "timezone"

_SECOND: Final = timedelta(seconds=1)

_Clock = TypeVar("_Clock", datetime, time)


def encode_time(value: object) -> dict[str, JsonValue] | None:
    """Return a date, a time or a duration as a tagged map; None for any other value."""
    if isinstance(value, timedelta):
        # The methods are timedelta's own: durations of pendulum have others.
        seconds = timedelta.__floordiv__(value, _SECOND)
        parts = timedelta.__mod__(value, _SECOND).microseconds
        found: dict[str, JsonValue] = {TAG: str(XComKind.TIMEDELTA), "seconds": seconds}
        return {**found, "microseconds": parts} if parts else found
    if isinstance(value, datetime):
        return {TAG: str(XComKind.DATETIME), "value": value.isoformat(), **_details(value)}
    if isinstance(value, time):
        return {TAG: str(XComKind.TIME), "value": value.isoformat(), **_details(value)}
    if isinstance(value, date):
        return {TAG: str(XComKind.DATE), "value": value.isoformat(), **_pendulum(value)}
    return None


def decode_timedelta(data: dict[str, Any]) -> timedelta:
    """Return the duration."""
    return timedelta(seconds=data["seconds"], microseconds=data.get("microseconds", 0))


def decode_datetime(data: dict[str, Any]) -> datetime:
    """Return the date with its time and zone."""
    at = _in_zone(datetime.fromisoformat(data["value"]), data)
    if not data.get(PENDULUM):
        return at
    import pendulum

    clock = at.hour, at.minute, at.second, at.microsecond
    zone = at.tzinfo
    if ZONE in data:
        zone = pendulum.timezone(data[ZONE])
    elif zone is not None:
        zone = pendulum.instance(at).tzinfo
    return pendulum.DateTime(at.year, at.month, at.day, *clock, tzinfo=zone, fold=at.fold)


def decode_time(data: dict[str, Any]) -> time:
    """Return the time of day."""
    at = _in_zone(time.fromisoformat(data["value"]), data)
    if not data.get(PENDULUM):
        return at
    import pendulum

    return pendulum.Time(at.hour, at.minute, at.second, at.microsecond, at.tzinfo, fold=at.fold)


def decode_date(data: dict[str, Any]) -> date:
    """Return the date."""
    if not data.get(PENDULUM):
        return date.fromisoformat(data["value"])
    import pendulum

    return pendulum.Date.fromisoformat(data["value"])


def zone_name(zone: object) -> str | None:
    """Return the name by which a time zone is found everywhere; None if it has none."""
    return zone.key if isinstance(zone, ZoneInfo) else None


def _details(value: datetime | time) -> dict[str, JsonValue]:
    zone = zone_name(value.tzinfo)
    return {
        **({} if zone is None else {ZONE: zone}),
        **({"fold": 1} if value.fold else {}),
        **_pendulum(value),
    }


def _pendulum(value: date | time) -> dict[str, JsonValue]:
    return {PENDULUM: True} if type(value).__module__.startswith(f"{PENDULUM}.") else {}


def _in_zone(at: _Clock, data: dict[str, Any]) -> _Clock:
    at = at.replace(fold=data.get("fold", 0))
    return at.replace(tzinfo=ZoneInfo(data[ZONE])) if ZONE in data else at
