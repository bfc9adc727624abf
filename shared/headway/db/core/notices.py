"""Notices: word to other processes that something was committed which they may act on.

A notice is a hint and no message: whoever may get one also looks by itself, so one that
is late, lost or switched off costs time and nothing else.

Postgres lets the commits with a notice in them pass one by one, through the whole server.
So a notice is never part of the work that it tells of: it follows in a transaction of its
own, which waits for no disk.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from selectors import EVENT_READ, DefaultSelector
from socket import socketpair
from threading import Lock, Thread
from typing import Any, Final

import psycopg2
from psycopg2.sql import SQL, Identifier
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from headway.db.core.engine import reader
from headway.domain.errors import HeadwayError
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace, cause_of
from headway.runtime.settings import configuration
from headway.runtime.settings.database import DatabaseSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that processes are told: on a channel, and about what."""

    channel: str
    about: str = ""


SCHEDULER: Final = Notice("headway_scheduler")
"""A scheduler may find something to do."""

WORKER: Final = Notice("headway_worker")
"""Attempts were queued."""

STOP: Final = Notice("headway_worker", "stop")
"""Running attempts were told to stop."""

CALLBACK: Final = Notice("headway_worker", "callback")
"""Callbacks were queued."""

PARSER: Final = Notice("headway_parser")
"""A run waits for its DAG file to be parsed."""

GAP: Final = 0.005
"""Seconds between two deliveries of one process."""

NOTIFY = text("SELECT set_config('synchronous_commit', 'off', true), pg_notify(:channel, :about)")

_LISTEN: Final = SQL("LISTEN {}")
_LONG: Final = 60.0
_RECONNECTING: Final = Pace()
_FAILURES: Final = (SQLAlchemyError, HeadwayError, psycopg2.Error, OSError)


def nobody(_notice: Notice) -> None:
    """Tell nobody."""


def send(engine: Engine, notices: Collection[Notice]) -> None:
    """Send notices.  Call it when the work that they tell of is committed."""
    with reader(engine).connect() as conn:
        for notice in notices:
            conn.execute(NOTIFY, {"channel": notice.channel, "about": notice.about})


def tell(engine: Engine, notices: Collection[Notice]) -> None:
    """Send notices for a user, where the settings have services wake each other.

    It never fails: what they tell of is done, and whoever is not told looks by itself.
    """
    if not configuration.read(DatabaseSettings).wakes:
        return
    try:
        send(engine, notices)
    except _FAILURES:
        log.debug("no notice was sent", exc_info=True)


class NoticeSender:
    """Send notices in a thread of its own, those of the same few milliseconds as one.

    Until it is started, and after it was closed, nobody is told anything.
    """

    def __init__(self, tell: Callable[[Collection[Notice]], None], clock: Clock) -> None:
        self._tell, self._clock = tell, clock
        self._lock, self._bell = Lock(), Bell()
        self._waiting: set[Notice] = set()
        self._failing = False
        self._thread = Thread(target=self._run, name="notifier", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def notify(self, notice: Notice) -> None:
        """Have a notice sent soon.  It neither waits nor fails, and any thread may call it."""
        with self._lock:
            self._waiting.add(notice)
        self._bell.ring()

    def close(self) -> None:
        """Send what still waits, and end the thread."""
        self._bell.stop()
        self._thread.join()
        self._send()

    def deliver(self) -> None:
        """Wait for notices, send them, and rest.

        One that comes while others are being sent is sent the next time: it may tell of
        what the readers of those have not seen.
        """
        self._bell.wait(self._clock, _LONG)
        self._bell.answer()
        self._send()
        self._clock.wait(self._bell.stopped, GAP)

    def _run(self) -> None:
        while not self._bell.stopped.is_set():
            self.deliver()

    def _send(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, set()
        if not waiting:
            return
        try:
            self._tell(waiting)
            self._failing = False
        except _FAILURES as error:
            if not self._failing:
                log.warning("Others cannot be notified, they have to look: %s", cause_of(error))
            self._failing = True


class Listener:
    """Ring when a notice comes, in a thread and on a connection of its own.

    After the connection was lost, and at the start, everything is rung once: something
    may have been missed.
    """

    def __init__(
        self,
        engine: Engine,
        rings: Mapping[Notice, Callable[[], None]],
        clock: Clock,
        pace: Pace = _RECONNECTING,
    ) -> None:
        self._engine, self._rings, self._clock, self._pace = engine, rings, clock, pace
        self._bell = Bell()
        self._closed, self._close = socketpair()
        self._thread = Thread(target=self._run, name="listener", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def close(self) -> None:
        """End the thread and its connection."""
        self._bell.stop()
        self._close.close()
        self._thread.join()
        self._closed.close()

    def _run(self) -> None:
        failures = 0
        while not self._bell.stopped.is_set():
            try:
                with self._connection() as connection:
                    failures = 0
                    self._ring(set(self._rings))
                    self._hear(connection)
            except _FAILURES as error:
                failures += 1
                seconds = self._pace.retry_after(failures)
                log.warning("Notices are not heard for %.1f s: %s", seconds, cause_of(error))
                self._clock.wait(self._bell.stopped, seconds)

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        """Open a connection, not counted among the engine's, that listens."""
        with closing(self._engine.raw_connection()) as pooled:
            connection: Any = pooled.driver_connection
            pooled.detach()
            connection.set_session(autocommit=True)
            with connection.cursor() as cursor:
                for channel in sorted({notice.channel for notice in self._rings}):
                    cursor.execute(_LISTEN.format(Identifier(channel)))
            yield connection

    def _hear(self, connection: Any) -> None:
        with DefaultSelector() as selector:
            selector.register(connection, EVENT_READ)
            selector.register(self._closed, EVENT_READ)
            while not self._bell.stopped.is_set():
                selector.select()
                connection.poll()
                heard = {Notice(each.channel, each.payload) for each in connection.notifies}
                connection.notifies.clear()
                self._ring(heard)

    def _ring(self, notices: Collection[Notice]) -> None:
        for notice in notices:
            if notice in self._rings:
                self._rings[notice]()
