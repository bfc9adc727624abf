"""How the process of a service begins and ends: checked, registered, and left in good order."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, ProgrammingError

from headway import __version__
from headway.db import engine as engines
from headway.db import guards, identity, migrate, notices, processes
from headway.db.logins import Login
from headway.db.notices import Listener, Notice, Notifier
from headway.db.processes import Identity
from headway.domain.errors import ConflictError, DatabaseError, NotFoundError
from headway.runtime import service, settings
from headway.runtime.awaiting import Awaiting
from headway.runtime.bell import Bell
from headway.runtime.clock import Clock, SystemClock
from headway.runtime.linux import become_undumpable, share_one_heap
from headway.runtime.loop import Pace, cause_of
from headway.runtime.settings import DatabaseSettings

log = logging.getLogger(__name__)

_REFUSED: Final = "42501"
"""The error by which the database says that an account lacks a privilege."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A service process that the others know of."""

    engine: Engine
    me: Identity
    notifier: Notifier
    wakes: bool
    _ending: ExitStack

    def listen(self, rings: Mapping[Notice, Callable[[], None]]) -> None:
        """Ring at these notices until the process ends; each once now, as some may have come.

        Nothing is heard where the settings say so: whoever listens looks by itself as well.
        """
        if self.wakes:
            listener = Listener(self.engine, rings, SystemClock())
            listener.start()
            self._ending.callback(listener.close)


@contextmanager
def registered(
    kind: str,
    database: str,
    bell: Bell,
    *,
    connections: int = 5,
    queues: Sequence[str] = (),
    slots: int = 0,
) -> Iterator[Registered]:
    """Register this process as a service of that kind, for as long as the block lasts.

    It waits for a database that does not answer, until the bell is stopped: then it ends the
    process, with status 0.  DatabaseError when the database is not migrated, or refuses what a
    service must do.  A block that refuses what was asked for (ConflictError, NotFoundError) ends
    the registration, too; one that ends by any other error leaves it behind: others then count
    the process as dead.
    """
    become_undumpable()
    share_one_heap()
    service.log_to_stderr(kind)
    service.await_gate(settings.environment())
    wakes = settings.read(DatabaseSettings).wakes
    engine = engines.connect(database, name=f"headway {kind}", pool_size=connections)
    guards.watch(engine)
    me = _await(engine, bell, partial(_register, engine, kind, queues, slots), SystemClock())
    log.info("action=start process=%d", me.id)
    with ExitStack() as ending:
        notifier = Notifier(partial(notices.send, engine), SystemClock())
        if wakes:
            notifier.start()
            ending.callback(notifier.close)
        try:
            yield Registered(engine, me, notifier, wakes, ending)
        except (ConflictError, NotFoundError):
            _leave(engine, me)
            raise
    _leave(engine, me)
    log.info("action=stop process=%d", me.id)


def _await(engine: Engine, bell: Bell, register: Callable[[], Identity], clock: Clock) -> Identity:
    """Return who this process is, once the database answers; SystemExit if told to stop before."""
    is_away = partial(_is_away, engine)
    waiting = Awaiting(partial(migrate.contact, engine), is_away, bell, clock)
    pace, failures = Pace(), 0
    while waiting.run():
        try:
            return register()
        except (DBAPIError, DatabaseError) as error:
            if not is_away(error):
                raise
            failures += 1
            seconds = pace.retry_after(failures)
            log.warning(
                "action=wait next_try=%.1fs: The database has gone away again: %s",
                seconds,
                cause_of(error),
            )
            clock.wait(bell.stopped, seconds)
    log.info("action=stop before the database has answered")
    raise SystemExit(0)


def _is_away(engine: Engine, error: BaseException) -> bool:
    return engines.is_away(error.__cause__ or error, engine)


def _register(engine: Engine, kind: str, queues: Sequence[str], slots: int) -> Identity:
    migrate.check(engine)
    identity.check_arrival(engine)
    with _may_register(kind), engine.begin() as conn:
        engines.refuse_read_only(conn)
        me = processes.register(conn, kind, service.host(), __version__, queues, slots)
    identity.introduce(engine, me)
    return me


@contextmanager
def _may_register(kind: str) -> Iterator[None]:
    try:
        yield
    except ProgrammingError as error:
        if getattr(error.orig, "pgcode", None) != _REFUSED:
            raise
        login = Login.SCHEDULER if kind == "backfill" else Login(f"headway_{kind}")
        raise DatabaseError(
            f"The account that HEADWAY_DATABASE_URL names may not be a {kind}; log in as {login}."
        ) from error


def _leave(engine: Engine, me: Identity) -> None:
    try:
        with engine.begin() as conn:
            processes.leave(conn, me)
    except (DBAPIError, DatabaseError) as error:
        if not engines.is_transient(error):
            raise
        log.warning("The database is away; this process will be counted as dead.")
