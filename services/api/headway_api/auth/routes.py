"""Sign in and out: by a password for a short token, or for a session in a browser's cookie."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from headway.actions.accounts import links, sign_in, tokens
from headway.actions.accounts.sign_in import LoginTry, SignInRefused, TooManyTries
from headway.actions.accounts.tokens import CreatedToken
from headway.domain.accounts import Account, AccountRole, shown_bundles
from headway.runtime.settings.api import ApiSettings
from headway_api.auth.browser import end_earlier, set_cookie
from headway_api.auth.caller import AnyCaller, session_of
from headway_api.auth.database import ApiDatabase
from headway_api.http.guard import COOKIES
from headway_api.http.refusals import TooManyTriesError, WrongPasswordError
from headway_api.http.routers import QuickRoute

router = APIRouter(prefix="/auth", tags=["auth"], route_class=QuickRoute)


class PasswordLogin(BaseModel):
    """The name and the password of an account."""

    model_config = ConfigDict(extra="forbid")

    username: str = Field(max_length=200)
    password: str = Field(max_length=2_000, repr=False)


class LinkLogin(BaseModel):
    """The secret of a link that signs in once."""

    model_config = ConfigDict(extra="forbid")

    link: str = Field(max_length=200, repr=False)


class ShortToken(BaseModel):
    """A token that is valid for some hours."""

    access_token: str


class WhoAmI(BaseModel):
    """The account that a request is made by; `bundles` are ["*"] for every bundle."""

    name: str
    role: AccountRole
    bundles: list[str]


@router.post("/token", status_code=201)
def create_token(login: PasswordLogin, request: Request) -> ShortToken:
    """Return a token for the name and the password of an account, as Airflow does."""
    return _short_token(login, request)


@router.post("/token/cli", status_code=201)
def create_token_for_commands(login: PasswordLogin, request: Request) -> ShortToken:
    """Return a token for the name and the password of an account; Airflow's commands call it."""
    return _short_token(login, request)


@router.post("/session")
def begin_session(login: PasswordLogin, request: Request, response: Response) -> WhoAmI:
    """Sign a browser in by the name and the password of an account."""
    account = _signed_in(login, request)
    database: ApiDatabase = request.app.state.database
    given: ApiSettings = request.app.state.settings
    with database.writes.begin() as conn:
        opened = sign_in.open_session(conn, account, given.session_lifetime)
        end_earlier(conn, request)
    set_cookie(response, opened, request)
    return _who(account)


@router.post("/session/link")
def begin_session_by_link(shown: LinkLogin, request: Request, response: Response) -> WhoAmI:
    """Sign a browser in by a link, which works once."""
    database: ApiDatabase = request.app.state.database
    given: ApiSettings = request.app.state.settings
    with database.writes.begin() as conn:
        account = links.use_link(conn, shown.link)
        if isinstance(account, SignInRefused):
            raise WrongPasswordError("This link was used, or is too old. Make a new one.")
        opened = sign_in.open_session(conn, account, given.session_lifetime)
        end_earlier(conn, request)
    set_cookie(response, opened, request)
    return _who(account)


@router.delete("/session", status_code=204)
def end_session(request: Request, response: Response) -> None:
    """Sign a browser out."""
    session = session_of(request)
    database: ApiDatabase = request.app.state.database
    if session is not None:
        with database.writes.begin() as conn:
            sign_in.sign_out(conn, session)
    for name in COOKIES:
        response.delete_cookie(name)


@router.get("/me")
def show_me(caller: AnyCaller) -> WhoAmI:
    """Show the account that makes the request."""
    return _who(caller.account)


def _short_token(login: PasswordLogin, request: Request) -> ShortToken:
    account = _signed_in(login, request)
    database: ApiDatabase = request.app.state.database
    given: ApiSettings = request.app.state.settings
    with database.writes.begin() as conn:
        created: CreatedToken = tokens.create_short_token(
            conn, account, f"user:{account.name}", given.token_lifetime
        )
    return ShortToken(access_token=created.secret)


def _signed_in(login: PasswordLogin, request: Request) -> Account:
    address = "unknown" if request.client is None else request.client.host
    database: ApiDatabase = request.app.state.database
    shown = LoginTry(login.username, address, login.password)
    match sign_in.sign_in(database.writes, shown):
        case TooManyTries(seconds):
            raise TooManyTriesError(seconds)
        case SignInRefused():
            raise WrongPasswordError("The name or the password is wrong, or may not sign in.")
        case account:
            return account


def _who(account: Account) -> WhoAmI:
    return WhoAmI(name=account.name, role=account.role, bundles=shown_bundles(account.bundles))
