"""The cookie by which a browser is signed in."""

from typing import Final

from fastapi import Request, Response
from sqlalchemy import Connection

from headway.actions.accounts import sign_in
from headway.actions.accounts.sign_in import OpenedSession
from headway.runtime.settings.api import ApiSettings
from headway_api.auth.caller import session_of
from headway_api.http.guard import COOKIES

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_plain(request: Request) -> bool:
    """Tell whether the browser reaches this machine, its own, by plain HTTP.

    Browsers take no secure cookie by plain HTTP; no other machine is to be reached that way.
    """
    return request.url.scheme == "http" and request.url.hostname in _LOOPBACK


def set_cookie(response: Response, opened: OpenedSession, request: Request) -> None:
    """Give the browser the id of its session."""
    given: ApiSettings = request.app.state.settings
    plain = is_plain(request)
    response.set_cookie(
        COOKIES[plain],
        opened.secret,
        max_age=round(given.session_lifetime),
        path="/",
        secure=not plain,
        httponly=True,
        samesite="lax",
    )


def end_earlier(conn: Connection, request: Request) -> None:
    """End the session that the browser had: whoever knows it must not be signed in by it."""
    earlier = session_of(request)
    if earlier is not None:
        sign_in.sign_out(conn, earlier)
