"""Which intervals a backfill is about."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from headway.domain.dag.spec import DagSpec
from headway.domain.errors import RequestError
from headway.domain.hints import Action, Hint, act, hint
from headway.timetables import registry
from headway.timetables.base import DagRunInfo, TimeRestriction, Timetable
from headway.timetables.kinds.simple import ContinuousTimetable, NullTimetable
from headway.timetables.kinds.wrapped import undelayed
from headway.timetables.sequence import runs_between
from headway.timetables.wall_clock.zones import first_at

MOST_RUNS = 10_000
"""Intervals of one backfill, and active runs of it, beyond which it is refused."""


def plan_backfill(
    dag: DagSpec, from_date: datetime, to_date: datetime, now: datetime
) -> list[DagRunInfo]:
    """Return the runs whose data interval starts between the two dates, both included.

    A midnight of the DAG's zone at the end stands for its day.  RequestError when the DAG has no
    schedule, or an interval is not over yet.
    """
    zone = ZoneInfo(dag.timezone)
    last = _last_of(to_date, zone)
    first_day, last_day = (f"{date.astimezone(zone):%F}" for date in (from_date, to_date))
    if last < from_date:
        raise RequestError(f"A backfill cannot end ({last_day}) before it begins ({first_day}).")
    infos = _between(dag, from_date, last, now)
    if not infos:
        raise RequestError(
            f"DAG {dag.dag_id} has no data interval that starts between {first_day} and "
            f"{last_day}.",
            hint=_schedule_of(dag),
        )
    return infos


def plan_dates(dag: DagSpec, dates: Iterable[datetime], now: datetime) -> list[DagRunInfo]:
    """Return the runs whose data interval starts at one of these dates, each once, by date.

    A midnight of the DAG's zone stands for its day.  RequestError for a date without one, or
    with one that is not over yet.
    """
    found: dict[datetime, DagRunInfo] = {}
    zone = ZoneInfo(dag.timezone)
    for date in dates:
        infos = _between(dag, date, _last_of(date, zone), now)
        if not infos:
            raise RequestError(
                f"DAG {dag.dag_id} has no data interval that starts at "
                f"{date.astimezone(zone):%F %R}.",
                hint=_schedule_of(dag),
            )
        found |= {info.data_interval.start: info for info in infos}
        _check_size(found)
    return [found[start] for start in sorted(found)]


def apart(dag: DagSpec, infos: Sequence[DagRunInfo], now: datetime) -> set[DagRunInfo]:
    """Return those of these runs, by date, that do not follow the one before in the schedule."""
    timetable = registry.decode(dag.timetable)
    first = infos[0].data_interval.start
    earliest = None if dag.start_date is None else min(dag.start_date, first)
    bounds = TimeRestriction(earliest, None, catchup=True)
    return {
        info
        for before, info in pairwise(infos)
        if timetable.next_dagrun_info(before.data_interval, bounds, now) != info
    }


def _between(
    dag: DagSpec, from_date: datetime, to_date: datetime, now: datetime
) -> list[DagRunInfo]:
    infos: list[DagRunInfo] = []
    timetable = registry.decode(dag.timetable)
    if (none := _why_none(dag.dag_id, undelayed(timetable))) is not None:
        about = act(Action.TRIGGER_DAG, dag_id=dag.dag_id, interval=("A", "B"))
        raise RequestError(f"{none}.", hint=hint(about, " runs it about a period."))
    for info in runs_between(timetable, dag.start_date, from_date, to_date):
        if info.run_after > now:
            raise RequestError(
                f"The interval that starts on {info.data_interval.start:%F %R} is not over before "
                f"{info.run_after:%F %R %Z}; end the backfill earlier."
            )
        infos.append(info)
        _check_size(infos)
    return infos


def _schedule_of(dag: DagSpec) -> Hint:
    return hint(act(Action.SHOW_DAG, dag_id=dag.dag_id), " tells its schedule.")


def _why_none(dag_id: str, timetable: Timetable) -> str | None:
    """Say why a schedule has no intervals in the past, if none can have any."""
    if isinstance(timetable, NullTimetable):
        return f"DAG {dag_id} has no schedule, and so no intervals"
    if isinstance(timetable, ContinuousTimetable):
        return (
            f"DAG {dag_id} is continuous: an interval of it begins when a run has ended, so that "
            "there are none to backfill"
        )
    return None


def _check_size(infos: Sequence[DagRunInfo] | Mapping[datetime, DagRunInfo]) -> None:
    if len(infos) > MOST_RUNS:
        raise RequestError(f"That is more than {MOST_RUNS:,} runs; backfill in smaller parts.")


def _last_of(date: datetime, zone: ZoneInfo) -> datetime:
    """Return the last instant of the day that begins at `date` in that zone, if one does; or it."""
    midnight = datetime.combine(date.astimezone(zone), time.min)
    if date != first_at(midnight, zone):  # which clocks may have skipped
        return date
    return first_at(midnight + timedelta(days=1), zone) - timedelta.resolution
