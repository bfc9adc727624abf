"""Carry out what a user asks for: after a question, in one transaction, with word to services."""

import sys
from collections.abc import Callable, Collection
from threading import Event
from typing import Final, TypeVar

import typer
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from headway.actions import rehearsal
from headway.cli.input.session import connected, user_url
from headway.db.core import notices
from headway.db.core.notices import Notice
from headway.domain.errors import NotConfirmedError
from headway.runtime.daemon.clock import SystemClock

T = TypeVar("T")

TRIES: Final = 3

_PAUSE: Final = 0.1
"""Seconds before another try, so that the other transaction takes its locks first."""

TOLD: Final = (notices.SCHEDULER, notices.STOP)
"""Who is told of what users do to runs."""

_MADE_WAY: Final = frozenset({"40001", "40P01", "55P03"})
"""Errors by which the database says that nothing was done, for another transaction's sake."""


def act(
    work: Callable[[Connection], T],
    tell: Collection[Notice] = TOLD,
    url: Callable[[], str] = user_url,
) -> T:
    """Do `work` in one transaction, and then tell schedulers and workers, or others, of it.

    It is done again when the database had it make way for another transaction.  Any other
    failure of the database is a DatabaseError.
    """
    with connected(url) as engine:
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
    with connected() as engine:
        return rehearsal.rehearse(engine, work)


def ask(what: str) -> None:
    """Have the user agree to what is about to be done; NotConfirmedError without a yes."""
    if not sys.stdin.isatty():
        raise NotConfirmedError(
            f"{what} Nobody can be asked here whether that is meant: add --yes."
        )
    if not typer.confirm(f"{what} Go on?"):
        raise NotConfirmedError("Nothing is changed.")
