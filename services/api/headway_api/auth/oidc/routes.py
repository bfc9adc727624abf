"""The two steps of signing in by OpenID Connect: to the provider, and back."""

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from headway.actions.accounts import oidc, sign_in
from headway.actions.accounts.sign_in import SignInRefused
from headway_api.auth.browser import end_earlier, is_plain, set_cookie
from headway_api.auth.database import ApiDatabase
from headway_api.auth.oidc.provider import Authorization, OidcProvider
from headway_api.http.documented import errors
from headway_api.http.refusals import WrongPasswordError

router = APIRouter(prefix="/auth/oidc", tags=["auth"])

COOKIES: Final = ("__Host-headway-oidc", "headway-oidc")
"""The cookie of a sign-in that has begun, with TLS and without."""

LIFETIME: Final = 600
"""Seconds in which somebody must have signed in at the provider."""

AFTERWARDS: Final = "/auth/me"


@router.get("", response_class=RedirectResponse, status_code=302, responses=errors(502))
def begin(request: Request) -> Response:
    """Send the browser to the provider's page."""
    provider: OidcProvider = request.app.state.oidc
    begun = provider.begin(_callback(request))
    answer = RedirectResponse(begun.url, status_code=302)
    plain = is_plain(request)
    answer.set_cookie(
        COOKIES[plain],
        urlsafe_b64encode(json.dumps(asdict(begun)).encode()).decode(),
        max_age=LIFETIME,
        path="/",
        secure=not plain,
        httponly=True,
        samesite="lax",
    )
    return answer


@router.get(
    "/callback", response_class=RedirectResponse, status_code=302, responses=errors(401, 502)
)
def end(
    request: Request,
    code: Annotated[str, Query(max_length=4_000)] = "",
    state: Annotated[str, Query(max_length=200)] = "",
    error: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Take the browser back from the provider, signed in if the provider says so."""
    begun = _begun(request)
    if begun is None or not hmac.compare_digest(begun.state.encode(), state.encode()):
        raise WrongPasswordError("This sign-in was not begun here, or long ago. Begin again.")
    if error or not code:
        raise WrongPasswordError(f"The provider has refused: {error or 'it gives no code'}.")
    provider: OidcProvider = request.app.state.oidc
    person = provider.person(code, begun, _callback(request))
    database: ApiDatabase = request.app.state.database
    with database.writes.begin() as conn:
        account = oidc.sign_in_subject(conn, person)
        if isinstance(account, SignInRefused):
            raise WrongPasswordError("None of your groups may use Headway, or you are disabled.")
        opened = sign_in.open_session(conn, account, request.app.state.settings.session_lifetime)
        end_earlier(conn, request)
    answer = RedirectResponse(AFTERWARDS, status_code=302)
    set_cookie(answer, opened, request)
    answer.delete_cookie(COOKIES[is_plain(request)], secure=not is_plain(request), httponly=True)
    return answer


def _callback(request: Request) -> str:
    """Return the address that the provider sends the browser back to; the guard knows its host."""
    return f"{request.url.scheme}://{request.url.netloc}{router.prefix}/callback"


def _begun(request: Request) -> Authorization | None:
    cookie = request.cookies.get(COOKIES[is_plain(request)])
    if cookie is None:
        return None
    try:
        return Authorization(**json.loads(urlsafe_b64decode(cookie)))
    except (ValueError, TypeError):
        return None
