"""Which sessions hold up a connection that waits for a lock: looked up while it waits."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, text
from sqlalchemy.exc import DBAPIError

from headway.runtime.daemon.clock import SystemClock

log = logging.getLogger(__name__)

LOOK_EVERY: Final = 0.5
"""Seconds between two looks: less than the second after which Postgres ends a deadlock."""

BACKEND = text("SELECT pg_backend_pid()")

# The process id 0 stands for prepared transactions, which have no session.  Who may not read
# pg_stat_activity sees neither state nor times of other roles' sessions.
HOLDERS = text("""
    SELECT holder.pid, coalesce(its.usename, its.backend_type, '?') AS role,
           coalesce(its.application_name, '') AS application,
           coalesce(its.state, 'state not shown to this role') AS state,
           to_char(its.xact_start, 'YYYY-MM-DD HH24:MI:SS TZ') AS since
      FROM (SELECT DISTINCT unnest(pg_blocking_pids(:backend))) AS holder (pid)
      LEFT JOIN pg_stat_activity AS its ON its.pid = holder.pid
     ORDER BY holder.pid
""")

PREPARED: Final = "a prepared transaction, listed in pg_prepared_xacts: `ROLLBACK PREPARED` ends it"
SESSION: Final = (
    "pid {it.pid}, role {it.role}, application {it.application!r}, {it.state}, in a transaction "
    "since {since}: `SELECT pg_terminate_backend({it.pid})` ends it"
)


@dataclass(slots=True)
class Holdups:
    """The sessions that held a connection up, as they were at the last look that found any."""

    engine: Engine
    backend: int
    last: tuple[str, ...] = ()
    _named: set[int] = field(default_factory=set)
    _stop: Event = field(default_factory=Event)

    @classmethod
    @contextmanager
    def watched(cls, engine: Engine, conn: Connection) -> Iterator["Holdups"]:
        """Look while the block lasts, from another connection of the engine."""
        holdups = cls(engine, int(conn.execute(BACKEND).scalar_one()))
        thread = Thread(target=holdups._watch, name="holdups", daemon=True)
        thread.start()
        try:
            yield holdups
        finally:
            holdups._stop.set()
            thread.join()

    def _watch(self) -> None:
        clock = SystemClock()
        while not clock.wait(self._stop, LOOK_EVERY):
            with suppress(DBAPIError):  # the connection that waits reports what is wrong
                self._look()

    def _look(self) -> None:
        with self.engine.connect() as conn:
            found = conn.execute(HOLDERS, {"backend": self.backend}).all()
        if found:
            self.last = tuple(_told(row) for row in found)
        for row, told in zip(found, self.last, strict=False):
            if row.pid not in self._named:
                log.warning("action=wait_for_lock held_by=%s", told)
        self._named |= {row.pid for row in found}


def _told(it: Row[Any]) -> str:
    since = it.since or "a time not shown to this role"
    return SESSION.format(it=it, since=since) if it.pid else PREPARED
