"""The arguments of a DAG, how each is checked, and the specification they make."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from headway.domain.arguments import JsonValue
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.catchup import Catchup, Overlap
from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.dag.spec import LONGEST_INTERVAL, SHORTEST_INTERVAL, DagSpec, TimetableSpec
from headway.domain.errors import DagError, TimetableError, brief
from headway.sdk.authoring import callbacks
from headway.sdk.authoring.deadlines import deadlines
from headway.sdk.authoring.notifiers import of_dag
from headway.sdk.values import checks
from headway.sdk.values.params import Param, declared
from headway.sdk.values.template_options import TEMPLATE_CHECKS, TemplateOptions

if TYPE_CHECKING:
    from headway.sdk.authoring.task_options import Deadlines, Functions, Notifiers
    from headway.timetables.base import Timetable


class DagOptions(TemplateOptions, total=False):
    """What a DAG takes besides its id."""

    schedule: object
    schedule_interval: object
    timetable: object
    cron_semantics: str | None
    start_date: datetime | None
    end_date: datetime | None
    timezone: str | tzinfo | None
    catchup: bool | str
    catchup_window: timedelta | float | None
    overlap: str
    max_active_runs: int
    max_active_tasks: int
    max_active_tasks_per_dagrun: int | None
    dagrun_timeout: timedelta | float | None
    deadline: "Deadlines"
    notify: "Notifiers"
    default_args: Mapping[str, Any] | None
    params: Mapping[str, JsonValue | Param] | None
    tags: Iterable[str]
    description: str | None
    dag_display_name: str | None
    doc_md: str | None
    is_paused_upon_creation: bool | None
    dynamic: bool
    reparse_on_run: bool
    min_file_process_interval: timedelta | float | None
    on_success_callback: "Functions"
    on_failure_callback: "Functions"


SCHEDULES: Final = ("schedule", "timetable", "schedule_interval")
"""The arguments that say when a DAG runs, of which it takes one; all but the first are old."""

REFUSED: Final[Mapping[str, str]] = {
    "fail_fast": (
        "there is no fail_fast; a run whose task has failed starts nothing that waits for it, and "
        "dagrun_timeout ends what goes on for too long."
    ),
    "fail_stop": (
        "there is no fail_stop; a run whose task has failed starts nothing that waits for it, and "
        "dagrun_timeout ends what goes on for too long."
    ),
    "max_consecutive_failed_dag_runs": (
        "there is no max_consecutive_failed_dag_runs; set depends_on_past=True on its first tasks, "
        "so that no run follows one that has failed."
    ),
}
"""What Airflow's DAGs take and these do not, and what to write instead."""

DATES: Final = frozenset({"start_date", "end_date"})
"""What default_args may have although no task takes it."""

DAG_OPTIONS: Final = frozenset(DagOptions.__annotations__)


_WESTERNMOST, _EASTERNMOST = -12, 14
"""Hours from UTC for which there are zones with a name and without summer time."""


def _interval(value: object, where: str) -> float:
    seconds = checks.duration(value, where).total_seconds()
    if not SHORTEST_INTERVAL <= seconds <= LONGEST_INTERVAL:
        checks.refuse(where, f"from {SHORTEST_INTERVAL} to {LONGEST_INTERVAL:,} seconds", value)
    return seconds


def _overlap(value: object, where: str) -> Overlap | None:
    chosen = checks.choice(Overlap)(value, where)
    return None if chosen is Overlap.QUEUE else Overlap(chosen)


_STORED: Final[Mapping[str, checks.Check]] = {
    "start_date": checks.optional(checks.date_of_schedule),
    "end_date": checks.optional(checks.date_of_schedule),
    "catchup_window": checks.optional(checks.in_seconds(checks.time_limit)),
    "max_active_runs": checks.whole(1),
    "max_active_tasks": checks.whole(1),
    "max_active_tasks_per_dagrun": checks.optional(checks.whole(1)),
    "dagrun_timeout": checks.optional(checks.in_seconds(checks.time_limit)),
    "tags": checks.texts,
    "description": checks.optional(checks.text),
    "dag_display_name": checks.optional(checks.text),
    "doc_md": checks.optional(checks.text),
    "is_paused_upon_creation": checks.optional(checks.flag),
    "dynamic": checks.flag,
    "reparse_on_run": checks.flag,
    "min_file_process_interval": checks.optional(_interval),
    "overlap": _overlap,
}


def specify(dag_id: str, options: DagOptions, of_bundle: CronSemantics | None = None) -> DagSpec:
    """Return the specification of a DAG that has no tasks yet.

    `of_bundle` are the cron semantics of a DAG that does not say its own.
    """
    where = f"DAG {dag_id!r}"
    given: Mapping[str, Any] = options
    checked: dict[str, Any] = {
        name: _STORED[name](value, f"{where}: {name}")
        for name, value in given.items()
        if name in _STORED
    }
    for name in TEMPLATE_CHECKS.keys() & given.keys():
        TEMPLATE_CHECKS[name](given[name], f"{where}: {name}")
    checked |= _catchup(given.get("catchup", False), f"{where}: catchup")
    _refuse_contradictions(checked, where)
    zone = timezone_of(options.get("start_date"), options.get("timezone"), where)
    semantics = semantics_of(options, of_bundle, where)
    timetable = _timetable(_schedule(given, where), zone, semantics, where)
    checked |= _active_runs(timetable, checked, where)
    return DagSpec(
        dag_id=dag_id,
        relative_path="",
        timetable=_encoded(timetable, where),
        timezone=zone,
        tasks=(),
        callbacks=_events(given, where),
        deadlines=deadlines(given.get("deadline"), f"{where}: deadline"),
        notifiers=of_dag(given.get("notify"), f"{where}: notify"),
        **declared(given.get("params"), f"{where}: params"),
        **checked,
    )


def _refuse_contradictions(checked: Mapping[str, Any], where: str) -> None:
    start, end = checked.get("start_date"), checked.get("end_date")
    if start and end and end < start:
        raise DagError(f"{where}: end_date ({end}) is before start_date ({start}); swap them.")
    if checked.get("min_file_process_interval") is not None and not checked.get("dynamic"):
        raise DagError(
            f"{where}: min_file_process_interval says how often a dynamic DAG is parsed though "
            "nothing has changed; add dynamic=True, or leave it out."
        )
    if checked.get("catchup_window") is not None and not _catches_up(checked):
        raise DagError(
            f"{where}: catchup_window says how far back missed runs are caught up, and without "
            'catchup none is; pass catchup="all", "latest" or "rollup", or leave it out.'
        )


def within(options: DagOptions, defaults: Mapping[str, Any], where: str) -> DagOptions:
    """Return the options with the dates that default_args has for tasks, if these are closer.

    No task runs before its start date or after its end date, and nor do runs of nothing.
    """
    found: DagOptions = {**options}
    for name, is_later in (("start_date", True), ("end_date", False)):
        if defaults.get(name) is None:
            continue
        of_tasks = checks.date_of_schedule(defaults[name], f"{where}: {name} in default_args")
        own = options.get(name)
        dag = None if own is None else checks.date_of_schedule(own, f"{where}: {name}")
        if dag is None or (of_tasks > dag if is_later else of_tasks < dag):
            found[name] = defaults[name]  # type: ignore[literal-required]
    return found


def _events(given: Mapping[str, Any], where: str) -> tuple[CallbackEvent, ...]:
    try:
        return callbacks.events(callbacks.of_runs(given))
    except DagError as error:
        raise DagError(f"{where}: {error}") from None


def _schedule(given: Mapping[str, Any], where: str) -> object:
    """Return what a DAG says of when it runs, by whichever of the arguments it says it."""
    said = [name for name in SCHEDULES if name in given]
    if len(said) > 1:
        raise DagError(
            f"{where}: {' and '.join(said)} both say when it runs; pass schedule alone, which "
            "takes a cron string, a preset, a timedelta or a timetable."
        )
    return given[said[0]] if said else None


def semantics_of(options: DagOptions, of_bundle: CronSemantics | None, where: str) -> CronSemantics:
    """Return what a cron string means; DagError for a schedule about which that says nothing."""
    given = options.get("cron_semantics")
    if given is None:
        return of_bundle or CronSemantics.INTERVAL
    chosen = CronSemantics(checks.choice(CronSemantics)(given, f"{where}: cron_semantics"))
    schedule = _schedule(options, where)
    by_text = schedule is None or isinstance(schedule, str)
    if not by_text or str(schedule).startswith("P"):
        raise DagError(
            f"{where}: cron_semantics says what ds is where the schedule is a cron string or a "
            f"preset such as '@daily'; this one is {brief(schedule)}, which says so itself: leave "
            "cron_semantics out."
        )
    return chosen


def _catchup(value: object, where: str) -> dict[str, object]:
    """Return how it is stored: what a flag can say as a flag, as ever."""
    if not isinstance(value, bool | str) or (isinstance(value, str) and value not in list(Catchup)):
        checks.refuse(where, f"True, False, or one of {', '.join(Catchup)}", value)
    mode = Catchup(value) if isinstance(value, str) else None
    if mode is Catchup.LATEST:
        return {"catchup": False, "catchup_mode": mode}
    if mode is Catchup.ROLLUP:
        return {"catchup": True, "catchup_mode": mode}
    return {"catchup": mode is Catchup.ALL if mode else bool(value)}


def _catches_up(checked: Mapping[str, Any]) -> bool:
    return bool(checked["catchup"] or checked.get("catchup_mode"))


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
    if isinstance(zone, tzinfo) and not _is_named(zone):
        return _fixed(zone.utcoffset(None), where)
    name = zone if isinstance(zone, str) else getattr(zone, "key", getattr(zone, "zone", None))
    try:
        return ZoneInfo(str(name)).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = get_close_matches(str(name), available_timezones())
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise DagError(
            f"{where} must be a named zone such as America/New_York, not {zone}.{hint}"
        ) from None


def _is_named(zone: tzinfo) -> bool:
    return any(isinstance(getattr(zone, name, None), str) for name in ("key", "zone"))


def _fixed(offset: timedelta | None, where: str) -> str:
    """Return the name of the zone that is always so far from UTC; the names have whole hours."""
    hours, rest = divmod(offset or timedelta(0), timedelta(hours=1))
    if offset is None or rest or not _WESTERNMOST <= hours <= _EASTERNMOST:
        raise DagError(
            f"{where} must be a named zone such as America/New_York, or whole hours from UTC; "
            f"{offset} has no name."
        )
    return f"Etc/GMT{-hours:+d}" if hours else "UTC"  # there, + is west


def _timetable(
    schedule: object, timezone: str, semantics: CronSemantics, where: str
) -> "Timetable":
    from headway.timetables.schedule import timetable_for

    try:
        return timetable_for(schedule, timezone, semantics)
    except TimetableError as error:
        raise TimetableError(f"{where}: {error}") from None


def _encoded(timetable: "Timetable", where: str) -> TimetableSpec:
    from headway.timetables.registry import encode

    try:
        return encode(timetable)
    except TimetableError as error:
        raise TimetableError(f"{where}: {error}") from None


def _active_runs(
    timetable: "Timetable", checked: Mapping[str, Any], where: str
) -> dict[str, object]:
    """Return how many runs a continuous DAG may have, of which another is due at any time."""
    from headway.timetables.sequence import is_continuous

    if not is_continuous(timetable):
        return {}
    if checked.get("max_active_runs", 1) > 1:
        raise DagError(
            f"{where}: max_active_runs is {checked['max_active_runs']}, and a continuous DAG has "
            "one run at a time, the next when that has ended; leave it out."
        )
    if checked.get("overlap"):
        raise DagError(
            f"{where}: overlap is {str(checked['overlap'])!r}, and runs of a continuous DAG never "
            "overlap; leave it out."
        )
    return {"max_active_runs": 1}
