"""The journal: who did what, and why."""

from typing import Annotated, Final

from fastapi import Query, Request
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from headway.db.reads.pages import event_pages, paging
from headway.db.reads.pages.event_pages import EventFilter, ListedEvent
from headway.db.reads.pages.paging import Asked, ListPage
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.exports import ExportFormat, exported
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_PAGE: Final = 100


class JournalQuery(BaseModel):
    """Which entries are wanted; what is empty is any."""

    actor: str = ""
    action: str = ""
    dag: str = ""
    run: str = ""
    cursor: str | None = None

    def filter(self) -> EventFilter:
        """Return the entries that are wanted."""
        return EventFilter(
            dag_id=self.dag or None,
            run_id=self.run or None,
            actor_like=paging.contains(self.actor) if self.actor else None,
            action_like=paging.contains(self.action) if self.action else None,
        )


@router.get(addresses.JOURNAL)
def show_journal(
    request: Request, caller: AnyCaller, query: Annotated[JournalQuery, Query()]
) -> Response:
    """List entries of the journal, the newest first."""
    caller.require(Permission.READ)
    asked = caller.page(_PAGE, query.cursor or None, descending=True)
    found = caller.read(lambda conn: event_pages.page(conn, asked, query.filter()))
    return page(request, "journal.html", caller, {"found": found, "query": query})


@router.get(addresses.JOURNAL + ".{form}")
def export_journal(
    request: Request, caller: AnyCaller, form: ExportFormat, query: Annotated[JournalQuery, Query()]
) -> Response:
    """Send the entries that the page lists."""

    def read(conn: Connection, asked: Asked) -> ListPage[ListedEvent]:
        return event_pages.page(conn, asked, query.filter())

    return exported(request, caller, form, ListedEvent, read, descending=True)
