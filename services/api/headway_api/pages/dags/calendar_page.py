"""The calendar of a DAG: runs by day and state, runs to come, and intervals that were skipped."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any, Final

from fastapi import Query, Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.db.core.server import now
from headway.domain.errors import RequestError
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.dags.calendar import Calendar, CalendarDay, read_calendar
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_MONTHS: Final = 3
"""Months that are shown together: the one that is asked for, and those before it."""

_WEEK: Final = 7
_FIRST_YEAR, _LAST_YEAR = 1000, 9000


@dataclass(frozen=True, slots=True)
class Month:
    """A month in weeks that begin on Monday; None stands for days of other months."""

    name: str
    weeks: Sequence[Sequence[tuple[date, CalendarDay | None] | None]]


@router.get(addresses.DAGS + "/{dag_id}/calendar")
def show_calendar(
    request: Request,
    caller: AnyCaller,
    dag_id: str,
    month: Annotated[str, Query(description="The last month, such as 2024-05.")] = "",
) -> Response:
    """Show three months of a DAG."""
    context = caller.read(lambda conn: _context(caller, conn, dag_id, month))
    return page(request, "calendar.html", caller, context)


def _context(caller: Caller, conn: Connection, dag_id: str, month: str) -> dict[str, Any]:
    last = _first_of(month) if month else now(conn).date().replace(day=1)
    first = _before(last, _MONTHS - 1)
    end = _after(last) - timedelta(days=1)
    found = read_calendar(conn, caller, dag_id, (first, end), None)
    firsts = [_before(last, back) for back in reversed(range(_MONTHS))]
    return {
        "dag_id": dag_id,
        "found": found,
        "months": [_month(each, found) for each in firsts],
        "earlier": f"{_before(last, _MONTHS):%Y-%m}",
        "later": f"{_after(last):%Y-%m}",
    }


def _month(first: date, found: Calendar) -> Month:
    days = {day.day: day for day in found.days}
    cells: list[tuple[date, CalendarDay | None] | None] = [None] * first.weekday()
    day, end = first, _after(first)
    while day < end:
        cells.append((day, days.get(day)))
        day += timedelta(days=1)
    cells += [None] * (-len(cells) % _WEEK)
    weeks = [cells[nth : nth + _WEEK] for nth in range(0, len(cells), _WEEK)]
    return Month(f"{first:%B %Y}", weeks)


def _first_of(month: str) -> date:
    try:
        found = date.fromisoformat(f"{month}-01")
    except ValueError as error:
        raise RequestError(f"{month!r} is no month, such as 2024-05.") from error
    if not _FIRST_YEAR <= found.year <= _LAST_YEAR:
        raise RequestError(f"The calendar has the years {_FIRST_YEAR:,} to {_LAST_YEAR:,}.")
    return found


def _before(first: date, months: int) -> date:
    for _ in range(months):
        first = (first - timedelta(days=1)).replace(day=1)
    return first


def _after(first: date) -> date:
    return (first + timedelta(days=32)).replace(day=1)
