"""The home page: what needs a person first, then what runs, then how full the pools are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.installation import processes
from headway.db.core.server import now
from headway.db.reads import pool_views
from headway.db.reads.dag_file_views import ImportProblem
from headway.db.reads.pages import backfill_pages, file_pages, run_pages, task_pages
from headway.db.reads.pages.backfill_pages import ListedBackfill
from headway.db.reads.pages.paging import ListPage, TimeRange
from headway.db.reads.pages.run_pages import ListedRun, RunFilter, RunOrder
from headway.db.reads.pages.task_pages import ListedTask, TaskFilter
from headway.db.reads.pool_views import PoolView
from headway.domain.states import UNFINISHED_RUN, RunState, TaskState
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router
from headway_api.pages.installation.day_chart import DAY, MARKS, DayChart, day_chart

router = page_router()

_SHOWN: Final = 10
"""Rows of each list: who wants more follows its link."""

_BACKFILLS: Final = 100
"""Paused backfills, the latest ones, of which those are shown that have runs left."""

_OF_DAY: Final = 200
"""Runs of the last 24 hours: the latest that have ended, and as many that run."""

_WAITING: Final = TaskFilter(states=[TaskState.SCHEDULED])
_LATELY: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Home:
    """What the home page shows; `dead` and `pools` are None for who sees some bundles alone.

    `paused` are backfills that somebody has paused, `waiting` the tasks that were created first of
    those that wait for a slot, or for another limit.  `day` has the latest runs of 24 hours.
    """

    failed: ListPage[ListedRun]
    problems: Sequence[ImportProblem]
    dead: Sequence[str] | None
    paused: Sequence[ListedBackfill]
    unfinished: ListPage[ListedRun]
    day: DayChart
    waiting: ListPage[ListedTask]
    pools: Sequence[PoolView] | None


@router.get(addresses.HOME)
def show_home(request: Request, caller: AnyCaller) -> Response:
    """Show what needs a person first."""
    settings: SchedulerSettings = request.app.state.scheduler
    home = caller.read(lambda conn: _home(caller, conn, settings))
    return page(request, "home.html", caller, {"home": home, "marks": MARKS})


def _home(caller: Caller, conn: Connection, settings: SchedulerSettings) -> Home:
    asked, whole, at = caller.page(_SHOWN, descending=True), caller.bundles is None, now(conn)
    lately = TimeRange(at - _LATELY, None)
    failed = RunFilter(states=[RunState.FAILED], ended=lately)
    unfinished = RunFilter(states=sorted(UNFINISHED_RUN))
    pools = pool_views.pools(conn) if whole else None
    return Home(
        failed=run_pages.page(conn, asked, failed, RunOrder.ENDED),
        problems=file_pages.errors(conn, caller.page(_SHOWN)).rows,
        dead=_dead(conn, settings) if whole else None,
        paused=_paused(caller, conn),
        unfinished=run_pages.page(conn, asked, unfinished),
        day=_day(caller, conn, at),
        waiting=_waiting(caller, conn, pools),
        pools=pools,
    )


def _day(caller: Caller, conn: Connection, at: datetime) -> DayChart:
    asked = caller.page(_OF_DAY, descending=True)
    ended = RunFilter(ended=TimeRange(at - DAY, None))
    found = [
        *run_pages.page(conn, asked, ended, RunOrder.ENDED).rows,
        *run_pages.page(conn, asked, RunFilter(states=[RunState.RUNNING])).rows,
    ]
    return day_chart([it for it in found if it.run.started_at is not None], at)


def _waiting(
    caller: Caller, conn: Connection, pools: Sequence[PoolView] | None
) -> ListPage[ListedTask]:
    if pools is not None and not any(pool.scheduled for pool in pools):
        return ListPage([], None)
    return task_pages.page(conn, caller.page(_SHOWN), _WAITING)


def _paused(caller: Caller, conn: Connection) -> list[ListedBackfill]:
    found = backfill_pages.page(conn, caller.page(_BACKFILLS, descending=True), paused=True).rows
    return [it for it in found if not it.backfill.finished]


def _dead(conn: Connection, settings: SchedulerSettings) -> list[str]:
    found = processes.unended(conn, settings, *processes.KINDS)
    return [f"{it.kind} {it.id} on {it.hostname}" for it in found if not it.alive]
