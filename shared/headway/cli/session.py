"""What most commands begin with: the database, the user, the time."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from headway.domain.errors import DatabaseError
from headway.runtime import configuration
from headway.runtime.clock import SystemClock
from headway.runtime.database_settings import DatabaseSettings

if TYPE_CHECKING:
    from sqlalchemy import Connection

URL_FILE = "database-url"
"""Where a running `headway standalone` leaves the address of its database, for its user alone."""


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


def url_file(home: Path) -> Path:
    """Return the file in which a running standalone leaves the address of its database."""
    return home / URL_FILE


@contextmanager
def transaction(*, changes: bool = False) -> "Iterator[Connection]":
    """Open one transaction on a database that has this release's schema.

    One that `changes` something schedulers are told of when it is committed.
    """
    from sqlalchemy.exc import OperationalError

    from headway.db import engine as engines
    from headway.db import migrate

    engine = engines.connect(database_url(), name="headway", pool_size=1)
    try:
        migrate.check(engine)
        with engine.begin() as conn:
            yield conn
        if changes:
            from headway.db import notices

            notices.tell(engine, [notices.SCHEDULER])
    except OperationalError as error:
        raise DatabaseError(f"The database failed: {str(error.orig).strip()}") from error
    finally:
        engine.dispose()


def now() -> datetime:
    """Return the present instant."""
    return SystemClock().now()


def actor() -> str:
    """Return who is using the command, for the journal."""
    try:
        return f"user:{getpass.getuser()}"
    except (OSError, KeyError):
        return "user:unknown"
