"""Errors as pages, for browsers."""

from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page

_APIS: Final = ("/api/", "/headway/", "/auth/", "/live", "/static/", "/openapi.json")
_TITLES: Final = {
    HTTPStatus.NOT_FOUND: "Not here",
    HTTPStatus.FORBIDDEN: "Not allowed",
    HTTPStatus.SERVICE_UNAVAILABLE: "Not available at present",
    HTTPStatus.UNPROCESSABLE_ENTITY: "The address is not understood",
}


def answer(request: Request, status: HTTPStatus, detail: object) -> Response | None:
    """Return a page that tells of an error; None for who has not asked for a page."""
    if request.url.path.startswith(_APIS) or "text/html" not in request.headers.get("accept", ""):
        return None
    if status is HTTPStatus.UNAUTHORIZED:
        query = urlencode({"to": request.url.path + _query(request)})
        return RedirectResponse(f"{addresses.SIGN_IN}?{query}", HTTPStatus.SEE_OTHER)
    said = detail if isinstance(detail, str) else "; ".join(_line(each) for each in _list(detail))
    title = _TITLES.get(status, status.phrase)
    context = {"title": title, "detail": said, "nearest": []}
    return page(request, "problem.html", None, context, status)


def _query(request: Request) -> str:
    return f"?{request.url.query}" if request.url.query else ""


def _list(detail: object) -> list[dict[str, object]]:
    return detail if isinstance(detail, list) else []


def _line(each: dict[str, object]) -> str:
    place = each["loc"]
    named = ".".join(map(str, place)) if isinstance(place, list | tuple) else str(place)
    return f"{named}: {each['msg']}"
