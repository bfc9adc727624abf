"""How the process of a service begins and ends: checked, registered, and left in good order."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, ProgrammingError

from headway import __version__
from headway.db.access import guards, migrate
from headway.db.access.logins import Login
from headway.db.access.readiness import DATABASE, Readiness
from headway.db.core import engine as engines
from headway.db.core import identity, notices, processes, watching
from headway.db.core.notices import Listener, Notice, NoticeSender
from headway.db.core.processes import Identity
from headway.domain.errors import ConflictError, DatabaseError, NotFoundError
from headway.metrics.metric import ServiceKind
from headway.metrics.process import CLOCK_SKEW
from headway.runtime.daemon import service
from headway.runtime.daemon.awaiting import Awaiting
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.database_clock import DatabaseClock
from headway.runtime.daemon.loop import Pace, cause_of
from headway.runtime.health import Health, Looking
from headway.runtime.processes.linux import become_undumpable, share_one_heap
from headway.runtime.settings import configuration
from headway.runtime.settings.database import DatabaseSettings

if TYPE_CHECKING:
    from headway.runtime.traces.traces import Traces

T = TypeVar("T")

log = logging.getLogger(__name__)

_REFUSED: Final = "42501"
"""The error by which the database says that an account lacks a privilege."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a service process takes at a time, and from which queues, as others see it."""

    queues: Sequence[str] = ()
    slots: int = 0


@dataclass(frozen=True, slots=True)
class Registered:
    """A service process that the others know of."""

    engine: Engine
    me: Identity
    notifier: NoticeSender
    wakes: bool
    health: Health
    _ending: ExitStack
    traces: "Traces | None" = None
    """What takes spans, if the environment asks for traces."""

    def listen(self, rings: Mapping[Notice, Callable[[], None]]) -> None:
        """Ring at these notices until the process ends; each once now, as some may have come.

        Nothing is heard where the settings say so: whoever listens looks by itself as well.
        """
        if self.wakes:
            listener = Listener(_heard_at(self.engine), rings, SystemClock())
            listener.start()
            self._ending.callback(listener.close)

    def tell(self, work: Callable[[Connection], T]) -> T | None:
        """Write that in a transaction, and return its answer; None if told to stop before.

        While the database is away it is tried again.
        """
        pace, failures = Pace(), 0
        while not self.health.bell.stopped.is_set():
            try:
                with self.engine.begin() as conn:
                    return work(conn)
            except (DBAPIError, DatabaseError) as error:
                if not engines.is_transient(error):
                    raise
                failures += 1
                _rest(self.health, pace.retry_after(failures), error)
        return None

    def show_skew(self, clock: DatabaseClock) -> None:
        """Have the metrics tell by how much that clock differs, if there is who asks for them."""
        if self.health.is_shown:
            CLOCK_SKEW.read_by(lambda: clock.skew or 0.0)


@contextmanager
def registered(
    kind: str,
    database: str,
    bell: Bell,
    *,
    connections: int = 5,
    capacity: Capacity = Capacity(),
    http_port: int = 0,
) -> Iterator[Registered]:
    """Register this process as a service of that kind, for as long as the block lasts.

    With an `http_port` it answers probes there, from before it waits for the database.

    It waits for a database that does not answer, until the bell is stopped: then it ends the
    process, with status 0.  DatabaseError when the database is not migrated, or refuses what a
    service must do.  A block that refuses what was asked for (ConflictError, NotFoundError) ends
    the registration, too; one that ends by any other error leaves it behind: others then count
    the process as dead.
    """
    traces = _prepare(kind)
    wakes, threads = configuration.read(DatabaseSettings).wakes, connections + (traces is not None)
    engine = engines.connect(database, name=f"headway {kind}", pool_size=threads)
    guards.watch(engine)
    readiness, clock = Readiness(engine), SystemClock()
    health = Health(bell, clock, Looking(DATABASE, readiness.look, clock))
    with _shown(health, kind, http_port, engine), _sent(traces):
        me = readiness.me = _await(engine, health, partial(_register, engine, kind, capacity))
        log.info("action=start process=%d", me.id)
        with ExitStack() as ending:
            notifier = NoticeSender(partial(notices.send, engine), clock)
            if wakes:
                notifier.start()
                ending.callback(notifier.close)
            try:
                yield Registered(engine, me, notifier, wakes, health, ending, traces)
            except (ConflictError, NotFoundError):
                _leave(engine, me)
                raise
        _leave(engine, me)
        log.info("action=stop process=%d", me.id)


def _traces(kind: str) -> "Traces | None":
    """Begin to trace where the environment asks for it; nothing is imported where it does not.

    A parser has nothing to tell.
    """
    environment = configuration.environment()
    if kind == ServiceKind.PARSER or not any(name.startswith("OTEL_") for name in environment):
        return None
    from headway.runtime.traces import traces

    return traces.begin(environment, kind, SystemClock())


@contextmanager
def _sent(traces: "Traces | None") -> Iterator[None]:
    """Send what waits of the traces when the block ends, if there are any."""
    try:
        yield
    finally:
        if traces is not None:
            traces.close()


def _heard_at(engine: Engine) -> Engine:
    """Return where notices are heard: past a pooler in transaction mode, which cannot LISTEN."""
    given = configuration.read(DatabaseSettings)
    if not given.pooler or not given.listen_url:
        return engine
    return engines.connect(given.listen_url, name="headway listener", pool_size=1, pooler=False)


def _prepare(kind: str) -> "Traces | None":
    """Do what comes before all else in the process of a service; return what takes its traces."""
    become_undumpable()
    share_one_heap()
    service.log_to_stderr(kind)
    service.await_gate(configuration.environment())
    return _traces(kind)


@contextmanager
def _shown(health: Health, kind: str, port: int, engine: Engine) -> Iterator[None]:
    """Answer probes at that port for as long as the block lasts; 0 is none."""
    if not port:
        yield
        return
    # Here and not above: a process that nobody asks would hold a web server in its memory.
    from headway.runtime.health import server

    watching.watch(engine, health.clock)
    with closing(server.start(ServiceKind(kind), port, health)):
        yield


def _await(engine: Engine, health: Health, register: Callable[[], Identity]) -> Identity:
    """Return who this process is, once the database answers; SystemExit if told to stop before."""
    is_away = partial(_is_away, engine)

    def contact() -> None:
        health.moved()
        migrate.contact(engine)

    waiting = Awaiting(contact, is_away, health.bell, health.clock)
    pace, failures = Pace(), 0
    while waiting.run():
        try:
            me = register()
        except (DBAPIError, DatabaseError) as error:
            if not is_away(error):
                raise
            failures += 1
            _rest(health, pace.retry_after(failures), error)
        else:
            health.begin()
            return me
    log.info("action=stop before the database has answered")
    raise SystemExit(0)


def _rest(health: Health, seconds: float, error: Exception) -> None:
    """Wait before the next try, or until told to stop."""
    cause = cause_of(error)
    log.warning("action=wait next_try=%.1fs: The database has gone away again: %s", seconds, cause)
    health.clock.wait(health.bell.stopped, seconds)


def _is_away(engine: Engine, error: BaseException) -> bool:
    cause = error.__cause__ if isinstance(error, DatabaseError) else None
    return engines.is_away(cause or error, engine)


def _register(engine: Engine, kind: str, capacity: Capacity) -> Identity:
    migrate.check(engine)
    identity.check_arrival(engine)
    with _may_register(kind), engine.begin() as conn:
        engines.refuse_read_only(conn)
        host, takes = service.host(), (capacity.queues, capacity.slots)
        me = processes.register(conn, kind, host, __version__, *takes)
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
