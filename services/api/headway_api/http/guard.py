"""The outermost layer of the API: it refuses strange hosts and other sites."""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headway_api.http.origins import is_allowed, may_change
from headway_api.http.problems import problem

COOKIES: Final = ("__Host-headway", "headway")
"""The names of the cookie of a session, with TLS and without."""

SIGN_IN: Final = ("/auth/session", "/sign-in")
"""Where a browser is given its cookie."""

_EVERYWHERE: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


@dataclass(frozen=True, slots=True)
class RequestGuard:
    """An ASGI application around another one."""

    app: ASGIApp
    allowed_hosts: Sequence[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that is refused, or have the application answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _EVERYWHERE.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith("/static/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        why = self._refusal(Headers(scope=scope), scope["method"], scope["path"])
        if why is None:
            await self.app(scope, receive, send_with_headers)
            return
        status, detail = why
        answer = problem(Request(scope), status, detail)
        await answer(scope, receive, send_with_headers)

    def _refusal(self, headers: Headers, method: str, path: str) -> tuple[HTTPStatus, str] | None:
        host = headers.get("host", "")
        if not is_allowed(host, self.allowed_hosts):
            return HTTPStatus.MISDIRECTED_REQUEST, (
                f"This API is not reached as {host[:80]!r}. If it shall be, add the name to "
                "HEADWAY_API_ALLOWED_HOSTS."
            )
        cookie = headers.get("cookie", "")
        by_cookie = "authorization" not in headers and any(f"{name}=" in cookie for name in COOKIES)
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        # Another site must not sign a browser in either, as an account that it chooses.
        signs_in = path.startswith(SIGN_IN) and (site is not None or origin is not None)
        if not may_change(method, host, site, origin, by_cookie=by_cookie or signs_in):
            return HTTPStatus.FORBIDDEN, "Another site sent this request; nothing was changed."
        return None
