"""Sign in by a password or OIDC, and sign out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Final, TypeAlias

from sqlalchemy import Connection, Engine

from headway.db.accounts import accounts, limits, sessions
from headway.db.accounts.accounts import StoredAccount
from headway.db.core import events
from headway.db.core.events import Event
from headway.domain import login_limits
from headway.domain.accounts import Account, account_name
from headway.domain.errors import RequestError
from headway.runtime.daemon.seam import nothing
from headway.runtime.secrets import bearer, passwords
from headway.runtime.secrets.bearer import BearerKind

SESSION_LIFETIME: Final = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class LoginTry:
    """A name and a password that somebody shows, and the address from which."""

    name: str
    address: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SignInRefused:
    """The account and the password do not belong together, or the account may not sign in."""


@dataclass(frozen=True, slots=True)
class TooManyTries:
    """There were too many tries; the next one is allowed after so many seconds."""

    seconds: int


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """Who is signed in, and the id of the session, which only its browser keeps."""

    account: Account
    secret: str = field(repr=False)


SignInOutcome: TypeAlias = Account | SignInRefused | TooManyTries


def sign_in(
    engine: Engine, shown: LoginTry, before_check: Callable[[], None] = nothing
) -> SignInOutcome:
    """Return whose password that is, or why nobody is signed in.

    The try is counted and committed before the password is looked at, so tries at the same time
    are counted too.  The hash is computed outside of any transaction, as it takes long.
    """
    name = _known_name(shown.name)
    counted = login_limits.limits(name, shown.address)
    with engine.begin() as conn:
        seconds = login_limits.wait(counted, limits.lock(conn, list(counted)))
        if seconds > 0:
            return TooManyTries(ceil(seconds))
        limits.move(conn, {subject: limit.refill for subject, limit in counted.items()})
        found = None if name is None else accounts.find(conn, name)
    before_check()
    is_right = passwords.is_right(shown.password, None if found is None else found.password_hash)
    if found is None or not is_right:
        return SignInRefused()
    with engine.begin() as conn:
        return _accept(conn, found, shown, counted)


def open_session(
    conn: Connection, account: Account, lifetime: float = SESSION_LIFETIME
) -> OpenedSession:
    """Begin a session of an account that has shown who it is; it ends after `lifetime` seconds.

    The id is always a new one: nobody can have it before.
    """
    secret = bearer.make(BearerKind.SESSION)
    sessions.begin(conn, secret.hash, account.name, lifetime)
    _enter(conn, account.name, "session.begin")
    return OpenedSession(account, secret.text)


def sign_out(conn: Connection, session: str) -> None:
    """End a session; nothing if there is none."""
    account = sessions.end(conn, bearer.hash_of(session))
    if account is not None:
        _enter(conn, account, "session.end")


def find_subject(conn: Connection, issuer: str, subject: str) -> Account | SignInRefused:
    """Return the account of a subject that an OIDC provider has told of."""
    return enabled(accounts.find_subject(conn, issuer, subject))


def enabled(found: StoredAccount | None) -> Account | SignInRefused:
    """Return an account that may sign in; refused if there is none, or it is disabled."""
    return SignInRefused() if found is None or found.disabled else found.account


def _accept(
    conn: Connection,
    found: StoredAccount,
    shown: LoginTry,
    counted: dict[str, login_limits.LoginLimit],
) -> SignInOutcome:
    """Give the try back, unless the account was changed since its hash was read."""
    now = accounts.lock(conn, found.account.name)
    if now is None or now.disabled or now.password_hash != found.password_hash:
        return SignInRefused()
    limits.lock(conn, list(counted))
    limits.move(conn, {subject: -limit.refill for subject, limit in counted.items()})
    if now.password_hash is not None and passwords.is_outdated(now.password_hash):
        accounts.set_password(conn, now.account.name, passwords.hashed(shown.password))
    return now.account


def _known_name(given: str) -> str | None:
    try:
        return account_name(given)
    except RequestError:
        return None


def _enter(conn: Connection, name: str, action: str) -> None:
    events.add(conn, Event(actor=f"user:{name}", action=action, details={"account": name}))
