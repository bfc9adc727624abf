"""Carry out an action in one transaction, or rehearse it: in one that is rolled back."""

from collections.abc import Callable, Collection
from threading import Event
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from headway.db.core import notices
from headway.db.core.notices import Notice
from headway.runtime.daemon.clock import SystemClock

T = TypeVar("T")

TRIES: Final = 3

_PAUSE: Final = 0.1
"""Seconds before another try, so that the other transaction takes its locks first."""

TOLD: Final = (notices.SCHEDULER, notices.STOP)
"""Who is told of what users do to runs."""

_MADE_WAY: Final = frozenset({"40001", "40P01", "55P03"})
"""Errors by which the database says that nothing was done, for another transaction's sake."""


def act(engine: Engine, work: Callable[[Connection], T], tell: Collection[Notice] = TOLD) -> T:
    """Do `work` in one transaction, and then tell schedulers and workers, or others, of it.

    It is done again when the database had it make way for another transaction, or when the
    connection was lost before the COMMIT: one that was kept is dead after a restart of Postgres.
    """
    for tries_left in reversed(range(TRIES)):
        committing = False
        try:
            with engine.begin() as conn:
                result = work(conn)
                committing = True
            break
        except DBAPIError as error:
            made_way = getattr(error.orig, "pgcode", None) in _MADE_WAY
            undone = error.connection_invalidated and not committing
            if not tries_left or not (made_way or undone):
                raise
        SystemClock().wait(Event(), _PAUSE)
    notices.tell(engine, tell)
    return result


def rehearse(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Return what `work` would return, and leave nothing of it behind."""
    with engine.connect() as conn:
        return work(conn)
