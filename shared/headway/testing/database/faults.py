"""Faults in a transaction, at the very statement that a test chooses."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import psycopg2
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.pool import PoolProxiedConnection

from headway.testing.time.clock import until

TRANSIENT: Final = ("40001", "40P01", "55P03")
"""Serialization failure, deadlock, lock timeout."""

_FAIL: Final = "DO $$ BEGIN RAISE EXCEPTION 'injected' USING ERRCODE = '{}'; END $$"
_ALIVE: Final = text("SELECT count(*) FROM pg_stat_activity WHERE pid = :pid")


class Crash(BaseException):
    """The process dies here."""


@dataclass(slots=True)
class Fault:
    """A fault that is to come; `number` counts statements from 1 on, and each COMMIT as one."""

    number: int
    seen: int = 0
    backend: int | None = None

    def is_now(self) -> bool:
        """Count a statement, and tell whether it is the one."""
        self.seen += 1
        return self.seen == self.number


@contextmanager
def failing(engine: Engine, number: int, code: str) -> Iterator[Fault]:
    """Have the server answer the statement of that number by an error, once."""
    fault = Fault(number)

    def fail(conn: Connection, *_rest: object) -> None:
        if fault.is_now():
            conn.exec_driver_sql(_FAIL.format(code))

    event.listen(engine, "before_cursor_execute", fail)
    try:
        yield fault
    finally:
        event.remove(engine, "before_cursor_execute", fail)


@contextmanager
def crashing(engine: Engine, number: int) -> Iterator[Fault]:
    """Cut the connection before the statement of that number, as when the process is killed.

    Crash is raised from there; the server has given up what the transaction held when the
    context has ended.
    """
    fault = Fault(number)

    def crash(conn: Connection, *_rest: object) -> None:
        if fault.is_now():
            fault.backend = _backend(conn)
            conn.invalidate()
            raise Crash

    for name in ("before_cursor_execute", "commit"):
        event.listen(engine, name, crash)
    try:
        yield fault
    finally:
        for name in ("before_cursor_execute", "commit"):
            event.remove(engine, name, crash)
    if fault.backend is not None:
        until(lambda: not _is_alive(engine, fault.backend), "the server noticed the crash")


def _backend(conn: Connection) -> int:
    """Return the process of the server, which a pooler gives its own number to."""
    with conn.connection.driver_connection.cursor() as cursor:  # type: ignore[union-attr]
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(pid)


def _is_alive(engine: Engine, backend: int | None) -> bool:
    with engine.connect() as conn:
        return bool(conn.scalar(_ALIVE, {"pid": backend}))


@contextmanager
def losing_the_answer(engine: Engine, *, committed: bool) -> Iterator[None]:
    """Lose the connection at the next COMMIT, after or before the server has committed."""
    original = engine.dialect.do_commit

    def lose(dbapi_connection: PoolProxiedConnection) -> None:
        engine.dialect.do_commit = original  # type: ignore[method-assign]
        if committed:
            original(dbapi_connection)
        dbapi_connection.driver_connection.close()  # type: ignore[union-attr]
        raise psycopg2.OperationalError("server closed the connection unexpectedly")

    engine.dialect.do_commit = lose  # type: ignore[method-assign]
    try:
        yield
    finally:
        engine.dialect.do_commit = original  # type: ignore[method-assign]
