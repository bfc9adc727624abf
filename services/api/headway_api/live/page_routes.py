"""`GET /live`: the stream of a tab, which sends its page whenever that has changed."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from headway.domain.accounts import Account
from headway.domain.errors import RequestError, brief
from headway_api.auth.caller import AnyCaller
from headway_api.auth.shared_asks import rights_of
from headway_api.http.routers import QuickRoute
from headway_api.live.hub import LiveHub
from headway_api.live.messages import EventName
from headway_api.live.page_asks import PageAsker, PageName, Site
from headway_api.live.page_streams import PageStream
from headway_api.live.routes import LiveResponse, holder_of
from headway_api.live.shared_pages import SharedPages
from headway_api.live.topics import MOST_TOPICS, parse_all

PATH: Final = "/live"
LONGEST: Final = 32_000
"""Characters of an address of a page."""

router = APIRouter(route_class=QuickRoute, include_in_schema=False)


@router.get(PATH)
async def watch_page(
    caller: AnyCaller,
    request: Request,
    topic: Annotated[list[str], Query(min_length=1, max_length=MOST_TOPICS)],
    page: str,
    cells: str | None = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Send a page when it has changed by what topics tell, and the cells of its grid.

    `page` is its address, and `cells` that of the cells if a script draws the rows of the grid.
    """
    hub: LiveHub = request.app.state.live
    pages: SharedPages = request.app.state.shared_pages
    asker = PageAsker.of(request)
    names = _names(rights_of(caller.account), asker.site, page, cells)
    opened = partial(PageStream, pages=pages, shown=(asker, names), last_event_id=last_event_id)
    return LiveResponse(hub, hub.open(holder_of(caller, request), parse_all(topic), opened))


def _names(
    rights: Account, site: Site, page: str, cells: str | None
) -> Mapping[EventName, PageName]:
    names = {EventName.PAGE: PageName(_address(page), rights, site, drawn=cells is not None)}
    if cells is not None:
        names[EventName.CELLS] = PageName(_address(cells), rights, site)
    return names


def _address(text: str) -> str:
    is_here = text.startswith("/") and not text.startswith("//")
    if is_here and text.isascii() and text.isprintable() and len(text) <= LONGEST:
        return text
    raise RequestError(f"{brief(text)} is no address of a page: a path with its query, encoded.")
