"""`headway db wait`: wait until a database has the schema of this release."""

import logging
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import Final

from headway.db.access import migrate
from headway.db.core import engine as engines
from headway.domain.errors import DatabaseError, HeadwayError, NewerSchemaError
from headway.domain.hints import Hint
from headway.runtime.daemon.awaiting import Awaiting, in_one_line
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import Clock, SystemClock
from headway.runtime.daemon.loop import Pace

log = logging.getLogger(__name__)

CLOCK: Final = SystemClock()

PACE: Final = Pace(retry_longest=3.0)
"""Pods start by this wait: it must not be long over when the migration is."""


def wait(url: str, timeout: float | None, bell: Bell, clock: Clock = CLOCK) -> str:
    """Return the schema once the database has it; DatabaseError after `timeout` seconds without.

    A bell that is stopped ends the wait, too.

    NewerSchemaError at once where waiting is in vain: only another release gets along with that
    database.
    """
    told = LastWord()
    engine = engines.connect(url, name="headway db wait", pool_size=1)
    expired = _expire(bell, clock, timeout)
    check = partial(migrate.check, engine)
    if Awaiting(check, passes, bell, clock, PACE, tell=told.tell).run():
        return migrate.head()
    if timeout is None or not expired.is_set():
        raise DatabaseError("The wait was ended by a signal.")
    raise DatabaseError(
        f"The database is not ready after {timeout:g} s. {told.last}", hint=told.hint
    )


def passes(error: BaseException) -> bool:
    """Tell whether an administrator or a migration may still put right what this error is about.

    The migration also makes the roles and their grants, so a login that is refused may be
    accepted later.
    """
    if isinstance(error, DatabaseError):
        return not isinstance(error, NewerSchemaError)
    return engines.is_transient(error)


@dataclass(slots=True)
class LastWord:
    """What is waited for; the log has a line each time that it is something else."""

    last: str = "It does not answer."
    hint: Hint | None = None

    def tell(self, error: BaseException, _seconds: float) -> None:
        """Take note of why the database is not ready."""
        why = in_one_line(error)
        if why != self.last:
            log.warning("action=wait: %s", why)
        self.last = why
        self.hint = error.hint if isinstance(error, HeadwayError) else None


def _expire(bell: Bell, clock: Clock, timeout: float | None) -> Event:
    """Stop the bell after so many seconds; return what is set then."""
    expired = Event()

    def run(seconds: float) -> None:
        if not clock.wait(bell.stopped, seconds):
            expired.set()
            bell.stop()

    if timeout is not None:
        Thread(target=run, args=[timeout], name="timeout", daemon=True).start()
    return expired
