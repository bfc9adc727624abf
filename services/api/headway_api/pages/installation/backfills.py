"""Backfills: how far they have come, date by date, and how to pause and end them."""

from enum import StrEnum
from typing import Annotated, Any, Final

from fastapi import Path, Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.backfills.control import (
    cancel_backfill,
    no_backfill,
    progress_of,
    set_backfill_paused,
)
from headway.db.reads import backfill_views
from headway.db.reads.pages import backfill_pages
from headway.db.reads.pages.backfill_pages import ListedBackfill
from headway.db.reads.pages.paging import MOST_ROWS
from headway.domain.accounts import Permission
from headway.domain.errors import NotFoundError
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.confirming import PageChange, carried_out, rehearsed
from headway_api.pages.frame.exports import ExportFormat, exported
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import Form, page_router

router = page_router()

_PAGE: Final = 50
_ONE = addresses.BACKFILLS + "/{number:int}"
_Number = Annotated[int, Path(ge=1, le=2**63 - 1)]


class BackfillChange(StrEnum):
    """What can be done to a backfill, as addresses say it."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"


@router.get(addresses.BACKFILLS)
def show_backfills(request: Request, caller: AnyCaller, cursor: str | None = None) -> Response:
    """List the backfills, the newest first."""
    caller.require(Permission.READ)
    asked = caller.page(_PAGE, cursor, descending=True)
    found = caller.read(lambda conn: backfill_pages.page(conn, asked))
    return page(request, "backfills.html", caller, {"found": found})


@router.get(addresses.BACKFILLS + ".{form}")
def export_backfills(request: Request, caller: AnyCaller, form: ExportFormat) -> Response:
    """Send the backfills that the page lists."""
    read = backfill_pages.page
    return exported(request, caller, form, ListedBackfill, read, descending=True)


@router.get(_ONE)
def show_backfill(request: Request, caller: AnyCaller, number: _Number) -> Response:
    """Show a backfill with a strip of its dates."""

    def read(conn: Connection) -> dict[str, Any]:
        listed = backfill_pages.one(conn, caller.bundles, number)
        if listed is None:
            raise no_backfill(number)
        progress = progress_of(conn, number)
        dates = backfill_views.dates_page(conn, caller.page(MOST_ROWS), number)
        return {"it": progress, "bundle": listed.bundle, "dates": dates}

    return page(request, "backfill.html", caller, caller.read(read))


@router.get(_ONE + "/{change}")
def ask_change(request: Request, caller: AnyCaller, number: _Number, change: str) -> Response:
    """Show what a change to a backfill would do."""
    return rehearsed(request, caller, _change(caller, number, change))


@router.post(_ONE + "/{change}")
def answer_change(
    request: Request, caller: AnyCaller, number: _Number, change: str, form: Form
) -> Response:
    """Change a backfill."""
    wanted = _change(caller, number, change, form.get("reason", ""))
    return carried_out(request, caller, wanted, form)


def _change(caller: Caller, number: int, name: str, reason: str = "") -> PageChange:
    if name not in set(BackfillChange):
        raise NotFoundError(f"Nothing called {name!r} can be done to a backfill.")
    kind = BackfillChange(name)

    def work(conn: Connection) -> str:
        listed = backfill_pages.one(conn, caller.bundles, number)
        if listed is None:
            raise no_backfill(number)
        caller.check_dag(conn, Permission.OPERATE, listed.backfill.dag_id)
        author = caller.author(reason or None)
        if kind is BackfillChange.CANCEL:
            ended = cancel_backfill(conn, number, author)
            return (
                f"Backfill {number} ends: {ended.dropped} runs that had not begun are deleted, "
                f"{ended.ended} others are cancelled"
            )
        paused = kind is BackfillChange.PAUSE
        if not set_backfill_paused(conn, number, author, paused=paused):
            word = "paused" if paused else "not paused"
            return f"Backfill {number} is {word}: nothing is to be changed"
        if paused:
            return f"Backfill {number} is paused: it starts no more runs, and what runs goes on"
        return f"Backfill {number} goes on"

    verb = kind.capitalize()
    return PageChange(f"{verb} backfill {number}", verb, addresses.backfill(number), work)
