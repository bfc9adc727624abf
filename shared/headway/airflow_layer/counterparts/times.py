"""Dates: `airflow.utils.timezone` and `airflow.utils.dates`."""

import datetime as standard
from datetime import UTC, timedelta, tzinfo
from types import SimpleNamespace
from typing import Any, Final

import pendulum

from headway.airflow_layer.notes import note
from headway.runtime.daemon.clock import SystemClock

utc: Final = pendulum.UTC

cron_presets: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@quarterly": "0 0 1 */3 *",
    "@yearly": "0 0 1 1 *",
}


def days_ago(
    n: int, hour: int = 0, minute: int = 0, second: int = 0, microsecond: int = 0
) -> standard.datetime:
    """Return the time of day that many days before today, in UTC."""
    note(
        "days_ago",
        "days_ago() gives another date each day, so that each day makes a new version of the DAG. "
        'Write a fixed date: pendulum.datetime(2024, 1, 1, tz="UTC").',
    )
    today = utcnow().replace(hour=hour, minute=minute, second=second, microsecond=microsecond)
    return today - timedelta(days=n)


def utcnow() -> standard.datetime:
    """Return the time by this machine's clock, in UTC."""
    return SystemClock().now()


def datetime(*parts: Any, **named: Any) -> standard.datetime:
    """Return a date and time, in UTC unless it is given a zone."""
    made = standard.datetime(*parts, **named)  # noqa: DTZ001 - it gets its zone here
    return made if made.tzinfo else made.replace(tzinfo=UTC)


def parse(string: str, timezone: str | tzinfo | None = None) -> pendulum.DateTime:
    """Return the date and time that a text names."""
    zone = pendulum.UTC if timezone is None else timezone
    found = pendulum.parse(string, tz=zone, strict=False)
    if not isinstance(found, pendulum.DateTime):
        raise ValueError(f"{string!r} is no date and time.")
    return found


def is_localized(value: standard.datetime) -> bool:
    """Return whether a date and time has a zone."""
    return value.utcoffset() is not None


def is_naive(value: standard.datetime) -> bool:
    """Return whether a date and time has no zone."""
    return value.utcoffset() is None


def make_aware(
    value: standard.datetime | None, timezone: tzinfo | None = None
) -> standard.datetime | None:
    """Return a date and time with the zone, UTC unless another one is given."""
    if value is None:
        return None
    if is_localized(value):
        raise ValueError(f"make_aware expects a naive datetime, got {value}")
    return value.replace(tzinfo=UTC if timezone is None else timezone)


def make_naive(value: standard.datetime, timezone: tzinfo | None = None) -> standard.datetime:
    """Return the clock of a zone, UTC unless another one is given, without the zone."""
    if is_naive(value):
        raise ValueError("make_naive() cannot be applied to a naive datetime")
    return value.astimezone(UTC if timezone is None else timezone).replace(tzinfo=None)


def convert_to_utc(value: standard.datetime | None) -> pendulum.DateTime | None:
    """Return a date and time in UTC; one without a zone is in UTC already."""
    return coerce_datetime(value, UTC)


def coerce_datetime(
    value: standard.datetime | None, tz: tzinfo | None = None
) -> pendulum.DateTime | None:
    """Return a date and time of pendulum's; in that zone, if one is given."""
    if value is None:
        return None
    aware = value if is_localized(value) else value.replace(tzinfo=UTC)
    made = pendulum.instance(aware)
    return made if tz is None else made.in_timezone(tz)  # type: ignore[arg-type]


def from_timestamp(timestamp: float, tz: tzinfo = UTC) -> pendulum.DateTime:
    """Return the date and time of so many seconds since 1970."""
    return pendulum.from_timestamp(timestamp, tz=tz)  # type: ignore[arg-type]


def td_format(td_object: float | timedelta | None) -> str | None:
    """Return a duration in a few characters; None for nothing."""
    if not td_object:
        return None
    length = td_object if isinstance(td_object, timedelta) else timedelta(seconds=td_object)
    units = ((86_400, "d"), (3_600, "h"), (60, "M"), (1, "s"))
    left, said = int(length.total_seconds()), ""
    for seconds, unit in units:
        number, left = divmod(left, seconds)
        said += f"{number}{unit}:" if number else ""
    return said.rstrip(":") or "<1s"


TIMEZONE: Final = SimpleNamespace(
    utc=utc,
    utcnow=utcnow,
    datetime=datetime,
    parse=parse,
    is_localized=is_localized,
    is_naive=is_naive,
    make_aware=make_aware,
    make_naive=make_naive,
    convert_to_utc=convert_to_utc,
    coerce_datetime=coerce_datetime,
    from_timestamp=from_timestamp,
    td_format=td_format,
)
"""All of these, for `from airflow.providers.common.compat.sdk import timezone`."""
