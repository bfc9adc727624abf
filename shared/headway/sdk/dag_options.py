"""The arguments of a DAG, how each is checked, and the specification they make."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from typing import Any, Final, TypedDict
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from headway.domain.arguments import JsonValue
from headway.domain.errors import DagError, TimetableError
from headway.domain.spec import LONGEST_INTERVAL, SHORTEST_INTERVAL, DagSpec, TimetableSpec
from headway.sdk import checks
from headway.sdk.exceptions import XComError
from headway.sdk.xcom import check_json


class DagOptions(TypedDict, total=False):
    """What a DAG takes besides its id."""

    schedule: object
    start_date: datetime | None
    end_date: datetime | None
    timezone: str | tzinfo | None
    catchup: bool
    max_active_runs: int
    max_active_tasks: int
    max_active_tasks_per_dagrun: int | None
    dagrun_timeout: timedelta | float | None
    default_args: Mapping[str, Any] | None
    params: Mapping[str, JsonValue] | None
    tags: Iterable[str]
    description: str | None
    doc_md: str | None
    is_paused_upon_creation: bool | None
    dynamic: bool
    reparse_on_run: bool
    min_file_process_interval: timedelta | float | None


DAG_OPTIONS: Final = frozenset(DagOptions.__annotations__)


def _params(value: object, where: str) -> dict[str, JsonValue]:
    try:
        return {
            name: check_json(item, f"{where}[{name!r}]")
            for name, item in checks.mapping(value or {}, where).items()
        }
    except XComError as error:
        raise DagError(str(error)) from None


def _moment(value: object, where: str) -> datetime:
    moment = checks.aware(value, where).astimezone(UTC)
    return datetime.combine(moment.date(), moment.time(), UTC)


def _interval(value: object, where: str) -> float:
    seconds = checks.duration(value, where).total_seconds()
    if not SHORTEST_INTERVAL <= seconds <= LONGEST_INTERVAL:
        checks.refuse(where, f"from {SHORTEST_INTERVAL} to {LONGEST_INTERVAL:,} seconds", value)
    return seconds


_STORED: Final[Mapping[str, checks.Check]] = {
    "start_date": checks.optional(_moment),
    "end_date": checks.optional(_moment),
    "catchup": checks.flag,
    "max_active_runs": checks.whole(1),
    "max_active_tasks": checks.whole(1),
    "max_active_tasks_per_dagrun": checks.optional(checks.whole(1)),
    "dagrun_timeout": checks.optional(checks.in_seconds(checks.time_limit)),
    "params": _params,
    "tags": checks.texts,
    "description": checks.optional(checks.text),
    "doc_md": checks.optional(checks.text),
    "is_paused_upon_creation": checks.optional(checks.flag),
    "dynamic": checks.flag,
    "reparse_on_run": checks.flag,
    "min_file_process_interval": checks.optional(_interval),
}


def specify(dag_id: str, options: DagOptions) -> DagSpec:
    """Return the specification of a DAG that has no tasks yet."""
    where = f"DAG {dag_id!r}"
    given: Mapping[str, Any] = options
    checked: dict[str, Any] = {
        name: check(given[name], f"{where}: {name}")
        for name, check in _STORED.items()
        if name in given
    }
    start, end = checked.get("start_date"), checked.get("end_date")
    if start and end and end < start:
        raise DagError(f"{where}: end_date ({end}) is before start_date ({start}); swap them.")
    if checked.get("min_file_process_interval") is not None and not checked.get("dynamic"):
        raise DagError(
            f"{where}: min_file_process_interval says how often a dynamic DAG is parsed though "
            "nothing has changed; add dynamic=True, or leave it out."
        )
    zone = timezone_of(options.get("start_date"), options.get("timezone"), where)
    timetable = _timetable(options.get("schedule"), zone, where)
    return DagSpec(
        dag_id=dag_id, relative_path="", timetable=timetable, timezone=zone, tasks=(), **checked
    )


def timezone_of(start_date: datetime | None, explicit: str | tzinfo | None, where: str) -> str:
    """Return the name of the zone that a DAG's schedule is read in."""
    if explicit is not None:
        return _zone_name(explicit, f"{where}: timezone")
    if start_date is not None and start_date.tzinfo is not None:
        return _zone_name(start_date.tzinfo, f"{where}: the time zone of start_date")
    return "UTC"


def _zone_name(zone: object, where: str) -> str:
    if zone is UTC:
        return "UTC"
    name = zone if isinstance(zone, str) else getattr(zone, "key", getattr(zone, "zone", None))
    try:
        return ZoneInfo(str(name)).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = get_close_matches(str(name), available_timezones())
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise DagError(
            f"{where} must be a named zone such as America/New_York, not {zone}.{hint}"
        ) from None


def _timetable(schedule: object, timezone: str, where: str) -> TimetableSpec:
    from headway.timetables.registry import encode
    from headway.timetables.schedule import timetable_for

    try:
        return encode(timetable_for(schedule, timezone))
    except TimetableError as error:
        raise TimetableError(f"{where}: {error}") from None
