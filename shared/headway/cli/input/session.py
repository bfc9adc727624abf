"""What most commands begin with: the database, the user, the time."""

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from headway.domain.errors import DatabaseError, NotAllowedError, RequestError
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.settings import configuration
from headway.runtime.settings.database import DatabaseSettings

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    Transaction: TypeAlias = Connection
    """What commands pass on to actions and reads; they run no statement by it."""

    Database: TypeAlias = Engine
    """Where transactions are begun."""

URL_FILE = "database-url"
"""Where a running `headway standalone` leaves the address of its database, for its user alone."""

API_URL_FILE = "api-database-url"
"""Where it leaves the address by which commands of accounts and tokens log in."""

API_AT_FILE = "api-address"
"""Where it leaves the address at which its API is reached."""

_NAMING: Final = {
    False: "HEADWAY_DATABASE_USER_URL or HEADWAY_DATABASE_URL name headway_user",
    True: "HEADWAY_DATABASE_API_URL name headway_api",
}
"""Which setting names the login that may, without and with accounts."""

_REFUSED: Final = frozenset({"42501", "25006"})
"""Errors by which the database says that this account may not: no privilege, or read-only."""


def database_url() -> str:
    """Return the address of the database; DatabaseError, saying how to give one, without it."""
    url = configuration.read(DatabaseSettings).url
    if url:  # a variable that is set to nothing counts as not set
        return url
    left = url_file(configuration.home())
    if left.is_file():
        return left.read_text().strip()
    raise DatabaseError(
        "No database is known. Set HEADWAY_DATABASE_URL to "
        "postgresql://user:password@host:port/name, or start `headway standalone`, which brings "
        f"its own (looked for in {configuration.home()})."
    )


def user_url() -> str:
    """Return the address that commands of users log in by, with its password.

    Where none is set for them it is the one of `database_url`; DatabaseError without either.
    """
    given = configuration.read(DatabaseSettings)
    if not given.user_url:
        return database_url()
    if not given.user_password:
        return given.user_url
    from headway.db.core.engine import with_password

    return with_password(given.user_url, given.user_password.get_secret_value())


def api_url() -> str:
    """Return the address that commands of accounts log in by, with its password.

    Where none is set for them it is the one of `user_url`, or what a running standalone has left.
    """
    given = configuration.read(DatabaseSettings)
    if not given.api_url:
        left = api_url_file(configuration.home())
        is_set = given.user_url or given.url
        return user_url() if is_set or not left.is_file() else left.read_text().strip()
    if not given.api_password:
        return given.api_url
    from headway.db.core.engine import with_password

    return with_password(given.api_url, given.api_password.get_secret_value())


def url_file(home: Path) -> Path:
    """Return the file in which a running standalone leaves the address of its database."""
    return home / URL_FILE


def api_url_file(home: Path) -> Path:
    """Return the file in which it leaves the address for commands of accounts and tokens."""
    return home / API_URL_FILE


def api_at_file(home: Path) -> Path:
    """Return the file in which it leaves the address at which its API is reached."""
    return home / API_AT_FILE


def api_at() -> str:
    """Return the address at which the API is reached: what a running standalone has left.

    RequestError, saying how to give one, without it.
    """
    left = api_at_file(configuration.home())
    if left.is_file() and (address := left.read_text().strip()):
        return address
    raise RequestError("The address of the API is not known here; give it: --at https://HOST.")


@contextmanager
def connected(url: Callable[[], str] = user_url) -> "Iterator[Database]":
    """Give connections for one user to a database that has this release's schema.

    They log in by the address that `url` returns.

    DatabaseError if the database fails, or refuses the account what is asked for.
    """
    from sqlalchemy.exc import DBAPIError, OperationalError

    from headway.db.access import migrate
    from headway.db.core import engine as engines

    engine = engines.connect(url(), name="headway", pool_size=1)
    try:
        migrate.check(engine)
        yield engine
    except DBAPIError as error:
        said = str(error.orig).strip()
        if getattr(error.orig, "pgcode", None) in _REFUSED:
            raise NotAllowedError(
                f"The account {engine.url.username} may not do that ({said}); let "
                f"{_NAMING[url is api_url]}."
            ) from error
        if isinstance(error, OperationalError):
            raise DatabaseError(f"The database failed: {said}") from error
        raise
    finally:
        engine.dispose()


@contextmanager
def transaction(*, changes: bool = False) -> "Iterator[Transaction]":
    """Open one transaction for a user, as `connected` does.

    One that `changes` something schedulers are told of when it is committed.
    """
    with connected() as engine:
        with engine.begin() as conn:
            yield conn
        if changes:
            from headway.db.core import notices

            notices.tell(engine, [notices.SCHEDULER])


def now() -> datetime:
    """Return the present instant."""
    return SystemClock().now()


def account() -> str:
    """Return the name of the account that runs the command; "unknown" if it has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def actor() -> str:
    """Return who is using the command, for the journal."""
    return f"user:{account()}"
