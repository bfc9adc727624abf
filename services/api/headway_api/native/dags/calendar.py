"""The calendar of a DAG: runs by day, runs to come, intervals that were skipped."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Annotated, Final
from zoneinfo import ZoneInfo

from fastapi import Query
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.dags.detail import upcoming_runs
from headway.actions.dags.history import as_it_was
from headway.db.core.server import now
from headway.db.reads import dag_views
from headway.db.reads.charts import calendar
from headway.db.reads.charts.calendar import MOST_SKIPPED, DayCount, SkippedView
from headway.domain.accounts import Permission
from headway.domain.errors import RequestError
from headway.domain.states import RunState
from headway.timetables.wall_clock.zones import find_zone
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.documented import errors
from headway_api.http.routers import native_router

router = native_router("DAGs")

MOST_DAYS: Final = 1_100
MOST_PLANNED: Final = 2_000
"""Runs to come that are counted at most."""

_DAY: Final = timedelta(days=1)


class CalendarDay(BaseModel):
    """A day: how many runs with a date on it are in each state, and how many are to come."""

    day: date
    runs: dict[RunState, int]
    planned: int


class Calendar(BaseModel):
    """The days on which there is something, in a time zone.

    The runs to come of a paused DAG are those that it would have if it were unpaused now.
    `planned_until` is null unless only the runs before that are counted, as there are too many.
    `skipped` has intervals without runs of their own; `skipped_all` tells whether it has them all.
    """

    dag_id: str
    timezone: str
    paused: bool
    days: list[CalendarDay]
    planned_until: datetime | None
    skipped: list[SkippedView]
    skipped_all: bool


@router.get("/dags/{dag_id}/calendar", responses=errors(404))
def show_calendar(
    dag_id: str,
    caller: AnyCaller,
    first: Annotated[date, Query(alias="from", description="The first day.")],
    last: Annotated[date, Query(alias="to", description="The last day.")],
    zone: Annotated[
        str | None, Query(description="The time zone of the days; by default that of the DAG.")
    ] = None,
) -> Calendar:
    """Show the runs of a DAG by day, the runs to come, and the intervals that were skipped."""
    if not first <= last < first + MOST_DAYS * _DAY:
        raise RequestError(f"The calendar has 1 to {MOST_DAYS:,} days; `to` is not before `from`.")
    return caller.read(lambda conn: read_calendar(conn, caller, dag_id, (first, last), zone))


def read_calendar(
    conn: Connection, caller: Caller, dag_id: str, days: tuple[date, date], zone: str | None
) -> Calendar:
    """Return the calendar from the first of these days to the last, in that zone or the DAG's."""
    caller.check_dag(conn, Permission.READ, dag_id)
    spec = as_it_was(conn, dag_id, None).spec
    dag = dag_views.dag(conn, dag_id)
    timezone = zone or spec.timezone
    local = find_zone(timezone)
    begins = _beginnings(*days, local)
    paused = dag is not None and dag.paused
    planned = [] if dag is None or not dag.active else _planned(conn, dag_id, begins)
    skipped = calendar.skipped(conn, dag_id, begins[0], begins[-1])
    return Calendar(
        dag_id=dag_id,
        timezone=timezone,
        paused=paused,
        days=_days(days[0], calendar.runs_by_day(conn, dag_id, begins), _by_day(planned, local)),
        planned_until=planned[-1] if len(planned) == MOST_PLANNED else None,
        skipped=skipped,
        skipped_all=len(skipped) < MOST_SKIPPED,
    )


def _beginnings(first: date, last: date, zone: ZoneInfo) -> list[datetime]:
    """Return when each day begins, and when the last one ends."""
    number = (last - first).days + 2
    return [datetime.combine(first + nth * _DAY, time(), zone) for nth in range(number)]


def _planned(conn: Connection, dag_id: str, begins: Sequence[datetime]) -> list[datetime]:
    """Return when the runs to come fall due within these days."""
    end = begins[-1]
    found = upcoming_runs(conn, dag_id, now(conn), MOST_PLANNED, before=end)
    due = (coming.info.run_after for coming in found.runs)
    return [moment for moment in due if moment >= begins[0]]


def _by_day(moments: Sequence[datetime], zone: ZoneInfo) -> dict[date, int]:
    found: dict[date, int] = {}
    for moment in moments:
        day = moment.astimezone(zone).date()
        found[day] = found.get(day, 0) + 1
    return found


def _days(
    first: date, counts: Sequence[DayCount], planned: Mapping[date, int]
) -> list[CalendarDay]:
    runs: dict[date, dict[RunState, int]] = {}
    for count in counts:
        runs.setdefault(first + count.day * _DAY, {})[count.state] = count.runs
    return [
        CalendarDay(day=day, runs=runs.get(day, {}), planned=planned.get(day, 0))
        for day in sorted({*runs, *planned})
    ]
