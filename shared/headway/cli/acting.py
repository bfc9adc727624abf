"""Carry out what a user asks for: after a question, in one transaction, with word to services."""

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Final, TypeVar

import typer
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, OperationalError

from headway.cli.session import database_url
from headway.db import engine as engines
from headway.db import migrate, notices
from headway.db.notices import Notice
from headway.domain.errors import ConflictError, DatabaseError
from headway.runtime.clock import SystemClock

T = TypeVar("T")

TRIES: Final = 3

_PAUSE: Final = 0.1
"""Seconds before another try, so that the other transaction takes its locks first."""

TOLD: Final = (notices.SCHEDULER, notices.STOP)
"""Who is told of what users do to runs."""

_MADE_WAY: Final = frozenset({"40001", "40P01", "55P03"})
"""Errors by which the database says that nothing was done, for another transaction's sake."""

_REFUSED: Final = frozenset({"42501", "25006"})
"""Errors by which the database says that this account may not: no privilege, or read-only."""


def act(work: Callable[[Connection], T], tell: Collection[Notice] = TOLD) -> T:
    """Do `work` in one transaction, and then tell schedulers and workers, or others, of it.

    It is done again when the database had it make way for another transaction.  Any other
    failure of the database is a DatabaseError.
    """
    with _engine() as engine:
        for tries_left in reversed(range(TRIES)):
            try:
                with engine.begin() as conn:
                    result = work(conn)
                break
            except DBAPIError as error:
                if not tries_left or getattr(error.orig, "pgcode", None) not in _MADE_WAY:
                    raise
            SystemClock().wait(Event(), _PAUSE)
        notices.tell(engine, tell)
        return result


def rehearse(work: Callable[[Connection], T]) -> T:
    """Return what `work` would return, and leave nothing of it behind."""
    with _engine() as engine, engine.connect() as conn:
        return work(conn)


def ask(what: str) -> None:
    """Have the user agree to what is about to be done; ConflictError where nobody can be asked."""
    if not sys.stdin.isatty():
        raise ConflictError(f"{what} Nobody can be asked here whether that is meant: add --yes.")
    typer.confirm(f"{what} Go on?", abort=True)


@contextmanager
def _engine() -> Iterator[Engine]:
    engine = engines.connect(database_url(), name="headway", pool_size=1)
    try:
        migrate.check(engine)
        yield engine
    except DBAPIError as error:
        said = str(error.orig).strip()
        if getattr(error.orig, "pgcode", None) in _REFUSED:
            raise DatabaseError(
                f"The account that HEADWAY_DATABASE_URL names may not do that ({said}); log in "
                "as headway_user."
            ) from error
        if isinstance(error, OperationalError):
            raise DatabaseError(f"The database failed: {said}") from error
        raise
    finally:
        engine.dispose()
