"""ETags: an answer that a client has already is not sent again."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from fastapi import Request, Response
from starlette.status import HTTP_304_NOT_MODIFIED

from headway_api.http.compressing import compressed

IMMUTABLE: Final = "private, max-age=31536000, immutable"
"""What is at this address stays the same for ever."""

REVALIDATED: Final = "private, no-cache"
"""A client may keep the answer, and asks each time whether it is still right."""

_DIGEST_BYTES: Final = 16


def tagged(
    request: Request,
    body: bytes,
    media_type: str = "application/json",
    *,
    strong: bool = False,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Answer with this body and its ETag, or with 304 if the client has just that.

    The tag is weak unless what is shown is immutable.
    """
    etag = of_body(body, strong=strong)
    shown = {"ETag": etag, "Cache-Control": REVALIDATED, **(headers or {})}
    if is_known(request, etag):
        return not_modified(shown)
    return Response(compressed(request, body, shown), headers=shown, media_type=media_type)


def of_body(body: bytes, *, strong: bool) -> str:
    """Return the ETag of a body."""
    quoted = f'"{blake2b(body, digest_size=_DIGEST_BYTES).hexdigest()}"'
    return quoted if strong else f"W/{quoted}"


def is_known(request: Request, etag: str) -> bool:
    """Tell whether the client has the answer of this ETag, by the header If-None-Match."""
    given = request.headers.get("if-none-match", "")
    known = {_opaque(each) for each in given.split(",")}
    return "*" in known or _opaque(etag) in known


def not_modified(headers: Mapping[str, str]) -> Response:
    """Return the answer that says that the client has it."""
    return Response(status_code=HTTP_304_NOT_MODIFIED, headers=dict(headers))


def _opaque(etag: str) -> str:
    return etag.strip().removeprefix("W/")
