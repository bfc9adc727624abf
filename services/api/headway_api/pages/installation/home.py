"""The home page: what needs a person first, then what runs, then how full the pools are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.installation import processes
from headway.db.core.server import now
from headway.db.reads import pool_views
from headway.db.reads.dag_file_views import ImportProblem
from headway.db.reads.pages import file_pages, run_pages
from headway.db.reads.pages.paging import ListPage, TimeRange
from headway.db.reads.pages.run_pages import ListedRun, RunFilter, RunOrder
from headway.db.reads.pool_views import PoolView
from headway.domain.states import UNFINISHED_RUN, RunState
from headway.runtime.settings.configuration import read as read_settings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_SHOWN: Final = 10
"""Rows of each list: who wants more follows its link."""

_LATELY: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Home:
    """What the home page shows; `dead` and `pools` are None for who sees some bundles alone."""

    failed: ListPage[ListedRun]
    problems: Sequence[ImportProblem]
    dead: Sequence[str] | None
    unfinished: ListPage[ListedRun]
    pools: Sequence[PoolView] | None


@router.get(addresses.HOME)
def show_home(request: Request, caller: AnyCaller) -> Response:
    """Show what needs a person first."""
    home = caller.read(lambda conn: _home(caller, conn))
    return page(request, "home.html", caller, {"home": home})


def _home(caller: Caller, conn: Connection) -> Home:
    asked, whole = caller.page(_SHOWN, descending=True), caller.bundles is None
    lately = TimeRange(now(conn) - _LATELY, None)
    failed = RunFilter(states=[RunState.FAILED], ended=lately)
    unfinished = RunFilter(states=sorted(UNFINISHED_RUN))
    return Home(
        failed=run_pages.page(conn, asked, failed, RunOrder.ENDED),
        problems=file_pages.errors(conn, caller.page(_SHOWN)).rows,
        dead=_dead(conn) if whole else None,
        unfinished=run_pages.page(conn, asked, unfinished),
        pools=pool_views.pools(conn) if whole else None,
    )


def _dead(conn: Connection) -> list[str]:
    settings = read_settings(SchedulerSettings)
    found = processes.unended(conn, settings, *processes.KINDS)
    return [f"{it.kind} {it.id} on {it.hostname}" for it in found if not it.alive]
