"""Routes of pages, and what their handlers are given."""

from typing import Annotated, TypeAlias
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request

from headway_api.http.routers import QuickRoute

LONGEST_FORM = 65_536
"""Bytes of a form at most; what is beyond is not read."""


def page_router() -> APIRouter:
    """Return a router of pages, which are no part of the API's document."""
    return APIRouter(route_class=QuickRoute, include_in_schema=False)


async def form(request: Request) -> dict[str, str]:
    """Return the fields of a form, the last one of each name."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST_FORM:
            return {}
    text = body.decode(errors="replace")
    return dict(parse_qsl(text, keep_blank_values=True))


Form: TypeAlias = Annotated[dict[str, str], Depends(form)]
"""The parameter by which a handler says that it answers a form."""
