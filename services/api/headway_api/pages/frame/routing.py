"""Routes of pages, and what their handlers are given."""

from typing import Annotated, Final, TypeAlias
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request

from headway.domain.errors import RequestError
from headway_api.http.routers import QuickRoute

_LONGEST: Final = 65_536
_LONGEST_SECRET: Final = 2**20
"""Bytes of a form at most; a connection or a variable of the largest size fits in the second."""


def page_router() -> APIRouter:
    """Return a router of pages, which are no part of the API's document."""
    return APIRouter(route_class=QuickRoute, include_in_schema=False)


async def form(request: Request) -> dict[str, str]:
    """Return the fields of a form, the last one of each name; RequestError for a huge one."""
    return await _fields(request, _LONGEST)


async def secret_form(request: Request) -> dict[str, str]:
    """Return the fields of a form that may hold a connection or a variable."""
    return await _fields(request, _LONGEST_SECRET)


Form: TypeAlias = Annotated[dict[str, str], Depends(form)]
"""The parameter by which a handler says that it answers a form."""

SecretForm: TypeAlias = Annotated[dict[str, str], Depends(secret_form)]
"""The same for a form with a connection or a variable."""


async def _fields(request: Request, longest: int) -> dict[str, str]:
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > longest:
            raise RequestError(f"A form may have {longest:,} bytes. Use the command line.")
    text = body.decode(errors="replace")
    return dict(parse_qsl(text, keep_blank_values=True))
