"""Ask this process's own application for a page, as a request over the network would."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Scope

from headway.domain.accounts import Account
from headway.metrics.api import PAGE_MAKINGS, PAGE_SECONDS
from headway_api.auth.shared_asks import Secret, SharedAsk
from headway_api.http.guard import SIGN_IN
from headway_api.http.refusals import NotSignedInError
from headway_api.live.page_kinds import kind_of

_MEDIA: Final = ("text/html", "application/vnd.headway.grid")
_KEPT: Final = ("type", "asgi", "http_version", "server", "client", "scheme", "root_path", "state")
"""What the request for a page has in common with that for the stream."""

Site: TypeAlias = tuple[str, str, str]
"""How browsers reach this process, which links of pages tell: scheme, host, and path before."""


class PageFailedError(Exception):
    """The page could not be made now; the text says how it was answered."""


@dataclass(frozen=True, slots=True)
class PageName:
    """A page as some see it: its address, and what it depends on besides.

    Its rows are left out if a script has `drawn` them.
    """

    address: str
    rights: Account
    site: Site
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class MadePage:
    """What a page is now, as it is sent; `tag` is another one for another page."""

    tag: str
    body: bytes
    in_gzip: bool


@dataclass(frozen=True, slots=True)
class PageAsker:
    """Asks the application to which somebody has made a request, in the way that one came."""

    app: ASGIApp
    kept: Mapping[str, Any]
    site: Site

    @classmethod
    def of(cls, request: Request) -> "PageAsker":
        """Return what asks the application of this request."""
        kept = {name: request.scope[name] for name in _KEPT if name in request.scope}
        host = request.headers.get("host", "")
        return cls(request.app, kept, (kept["scheme"], host, kept.get("root_path", "")))

    async def ask(self, page: PageName, secret: Secret, known: str) -> MadePage | None:
        """Return the page as it is now; None if it is the one whose tag is `known`.

        None, too, if there is no such page, or what is there is no page.  NotSignedInError if the
        secret shows nobody any more who has the rights that the page is made for.
        PageFailedError if it could not be made, as while the database is away.
        """
        answer, scope = _PageAnswer(), self._scope(page, known)
        SharedAsk(secret, page.rights, page.drawn).put_in(scope)
        loop = asyncio.get_running_loop()
        began = loop.time()
        asking = asyncio.create_task(answer.of(self.app, scope))
        try:
            await asyncio.wait([asking])
        finally:
            asking.cancel()
        kind = kind_of(scope)
        PAGE_MAKINGS.inc(kind, _outcome(asking, answer.status))
        PAGE_SECONDS.observe(loop.time() - began, kind)
        return None if asking.cancelled() else asking.result()

    def _scope(self, page: PageName, known: str) -> Scope:
        path, _, query = page.address.partition("?")
        headers = {"host": self.site[1], "accept": "text/html", "accept-encoding": "gzip"}
        if known:
            headers["if-none-match"] = f'"{known}"'
        return {
            **self.kept,
            "method": "GET",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), text.encode("latin-1")) for name, text in headers.items()],
        }


def _outcome(asking: "asyncio.Task[MadePage | None]", status: int) -> str:
    """Return what came of it, as the metrics say it."""
    error = None if asking.cancelled() else asking.exception()
    if error is not None:
        return "refused" if isinstance(error, NotSignedInError) else "failed"
    if not asking.cancelled() and asking.result() is not None:
        return "made"
    return "unchanged" if status == HTTPStatus.NOT_MODIFIED else "missing"


@dataclass(slots=True)
class _PageAnswer:
    """What the application has answered so far."""

    status: int = 0
    headers: Headers = field(default_factory=Headers)
    body: bytearray = field(default_factory=bytearray)
    task: "asyncio.Task[Any] | None" = None
    _asked: bool = False

    async def of(self, app: ASGIApp, scope: Scope) -> MadePage | None:
        """Have the application answer; what is no page is given up, for it may have no end."""
        self.task = asyncio.current_task()
        await app(scope, self.receive, self.send)
        if self.status == HTTPStatus.UNAUTHORIZED or self._to_sign_in:
            raise NotSignedInError("The secret of the stream shows nobody any more.")
        if self.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise PageFailedError(f"answered with {self.status}")
        if self.status != HTTPStatus.OK or "etag" not in self.headers:
            return None
        tag = self.headers["etag"].removeprefix("W/").strip('"')
        return MadePage(tag, bytes(self.body), self.headers.get("content-encoding") == "gzip")

    async def receive(self) -> Message:
        """Return that the request has no body, and nothing after that."""
        if self._asked:
            await asyncio.Event().wait()
        self._asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message: Message) -> None:
        """Keep what is answered."""
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], Headers(raw=message["headers"])
            kind = self.headers.get("content-type", "")
            if self.status == HTTPStatus.OK and not kind.startswith(_MEDIA):
                assert self.task is not None
                self.task.cancel()
        else:
            self.body += message.get("body", b"")

    @property
    def _to_sign_in(self) -> bool:
        redirects = self.status == HTTPStatus.SEE_OTHER
        return redirects and self.headers.get("location", "").startswith(SIGN_IN)
