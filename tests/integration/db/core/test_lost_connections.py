"""A connection that the server ends is told in one line, and in no traceback."""

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from headway.db.core import engine as engines
from headway.db.core.engine import reader
from headway.db.core.notices import WORKER, Listener
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.loop import Pace
from headway.testing.processes import modes
from headway.testing.time.clock import until

PID = text("SELECT pg_backend_pid()")
LISTENING = text("""
    SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND query LIKE 'LISTEN %'
""")
END = text("SELECT pg_terminate_backend(:pid, 10000)")

directly = pytest.mark.skipif(modes.pooled(), reason="a pooler hides the server's connections")


class AbandonedError(Exception):
    """What a transaction is left by."""


def end(engine: Engine, pid: int) -> None:
    """Have the server end a connection, which is gone afterwards."""
    other = engines.connect(engine.url.render_as_string(hide_password=False), name="test")
    with other.begin() as conn:
        assert conn.scalar(END, {"pid": pid})
    other.dispose()


@contextmanager
def ended(engine: Engine) -> Iterator[Connection]:
    """A transaction whose connection has ended when its block begins."""
    with engine.begin() as conn:
        end(engine, conn.execute(PID).scalar_one())
        yield conn


@directly
@pytest.mark.regression
def test_a_listener_that_loses_its_connection_logs_no_traceback(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    def listening() -> int | None:
        with reader(engine).connect() as conn:
            pid: int | None = conn.scalar(LISTENING)
        return pid

    listener = Listener(engine, {WORKER: lambda: None}, SystemClock(), Pace(retry_first=0.01))
    listener.start()
    pid = until(listening, "a listener")

    with caplog.at_level(logging.INFO):
        end(engine, pid)
        until(lambda: (found := listening()) not in (None, pid) and found, "another connection")
    listener.close()

    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if "Notices are not heard" in line] == lines
    assert len(lines) == 1
    assert not any(record.exc_info for record in caplog.records)


@directly
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("how", ["abandoned", "committed", "asked"])
def test_a_transaction_that_loses_its_connection_logs_no_traceback(
    engine: Engine, caplog: pytest.LogCaptureFixture, how: str, single: bool
) -> None:
    its = reader(engine) if single else engine

    with caplog.at_level(logging.INFO), suppress(DBAPIError, AbandonedError), ended(its) as conn:
        if how == "abandoned":
            raise AbandonedError
        if how == "asked":
            conn.execute(PID)

    assert not any(record.exc_info for record in caplog.records)
    with engine.connect() as conn:
        assert conn.scalar(PID)


@directly
def test_a_connection_that_is_found_lost_when_it_comes_back_is_told_in_one_line(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLAlchemy is told nothing of statements on the driver's own connection."""
    pooled = engine.raw_connection()
    with closing(pooled.cursor()) as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone() or (0,)
    end(engine, pid)

    with caplog.at_level(logging.INFO):
        pooled.close()

    [record] = caplog.records
    assert record.getMessage().startswith("A connection to the database was lost: ")
    assert "\n" not in record.getMessage()
    assert not record.exc_info
    with engine.connect() as conn:
        assert conn.scalar(PID) != pid


@directly
def test_what_a_transaction_leaves_is_rolled_back_when_its_connection_comes_back(
    engine: Engine,
) -> None:
    pooled = engine.raw_connection()
    with closing(pooled.cursor()) as cursor:
        cursor.execute("UPDATE pool SET slots = 1 WHERE name = 'default_pool'")
    pooled.close()

    with engine.begin() as conn:
        conn.execute(text("SET LOCAL lock_timeout = '5s'"))
        slots = conn.scalar(text("SELECT slots FROM pool WHERE name = 'default_pool' FOR UPDATE"))
    assert slots != 1
