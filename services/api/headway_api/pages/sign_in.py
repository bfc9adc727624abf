"""Sign in and out in a browser, without a script."""

from http import HTTPStatus
from typing import Final

from fastapi import Request
from starlette.responses import RedirectResponse, Response

from headway.actions.accounts import sign_in
from headway.actions.accounts.sign_in import LoginTry, SignInRefused, TooManyTries
from headway.runtime.settings.api import ApiSettings
from headway_api.auth.browser import end_earlier, set_cookie
from headway_api.auth.caller import session_of
from headway_api.auth.database import ApiDatabase
from headway_api.http.guard import COOKIES
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import Form, page_router

router = page_router()

_WRONG: Final = "The name or the password is wrong, or may not sign in."
_LONGEST: Final = 2_000


@router.get(addresses.SIGN_IN)
def show_sign_in(request: Request, to: str = addresses.HOME) -> Response:
    """Ask for a name and a password; `to` is the page that is shown afterwards."""
    return _asked(request, to)


@router.post(addresses.SIGN_IN)
def answer_sign_in(request: Request, form: Form) -> Response:
    """Sign a browser in, and go on to the page that it wanted."""
    to, name = form.get("to", ""), form.get("name", "")[:_LONGEST]
    address = "unknown" if request.client is None else request.client.host
    database: ApiDatabase = request.app.state.database
    given: ApiSettings = request.app.state.settings
    shown = LoginTry(name, address, form.get("password", "")[:_LONGEST])
    match sign_in.sign_in(database.writes, shown):
        case TooManyTries(seconds):
            said = f"There were too many tries. Try again in {seconds} seconds."
            return _asked(request, to, name, said, HTTPStatus.TOO_MANY_REQUESTS)
        case SignInRefused():
            return _asked(request, to, name, _WRONG, HTTPStatus.UNAUTHORIZED)
        case account:
            with database.writes.begin() as conn:
                opened = sign_in.open_session(conn, account, given.session_lifetime)
                end_earlier(conn, request)
    answer = RedirectResponse(_here(to), HTTPStatus.SEE_OTHER)
    set_cookie(answer, opened, request)
    return answer


@router.post(addresses.SIGN_OUT)
def answer_sign_out(request: Request) -> Response:
    """Sign a browser out."""
    session = session_of(request)
    database: ApiDatabase = request.app.state.database
    if session is not None:
        with database.writes.begin() as conn:
            sign_in.sign_out(conn, session)
    answer = RedirectResponse(addresses.SIGN_IN, HTTPStatus.SEE_OTHER)
    for name in COOKIES:
        answer.delete_cookie(name)
    return answer


def _asked(
    request: Request,
    to: str,
    name: str = "",
    said: str = "",
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    context = {"to_page": _here(to), "name": name, "said": said}
    return page(request, "sign_in.html", None, context, status)


def _here(to: str) -> str:
    """Return the page that is wanted; the home page for an address of any other site."""
    is_path = to.startswith("/") and not to.startswith(("//", "/\\"))
    return to if is_path and to.isprintable() else addresses.HOME
