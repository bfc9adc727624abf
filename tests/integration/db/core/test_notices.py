"""Notices between processes, over a real server."""

from collections.abc import Iterator
from functools import partial
from queue import SimpleQueue

import pytest
from sqlalchemy import Engine, text

from headway.db.core import engine as engines
from headway.db.core import notices
from headway.db.core.notices import SCHEDULER, STOP, WORKER, Listener, Notice, NoticeSender
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.loop import Pace
from headway.testing.processes import modes

PATIENCE = 20.0
LISTENERS = text("""
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'
""")

pytestmark = pytest.mark.skipif(modes.pooled(), reason="a pooler in transaction mode cannot LISTEN")


@pytest.fixture
def heard() -> "SimpleQueue[Notice]":
    return SimpleQueue()


@pytest.fixture
def listener(engine: Engine, heard: "SimpleQueue[Notice]") -> Iterator[Listener]:
    """A worker's listener, whose rings at the start have been heard."""
    rings = {notice: partial(heard.put, notice) for notice in (WORKER, STOP)}
    listener = Listener(engine, rings, SystemClock(), Pace(retry_first=0.01))
    listener.start()
    assert everything(heard) == {WORKER, STOP}
    yield listener
    listener.close()


def everything(heard: "SimpleQueue[Notice]") -> set[Notice]:
    return {heard.get(timeout=PATIENCE), heard.get(timeout=PATIENCE)}


def test_a_notice_rings_for_what_it_is_about(
    engine: Engine, listener: Listener, heard: "SimpleQueue[Notice]"
) -> None:
    notices.send(engine, [SCHEDULER])
    for notice in (STOP, WORKER, STOP):
        notices.send(engine, [notice])
        assert heard.get(timeout=PATIENCE) == notice

    assert heard.empty()


def test_one_that_nobody_knows_rings_nothing(
    engine: Engine, listener: Listener, heard: "SimpleQueue[Notice]"
) -> None:
    notices.send(engine, [Notice(WORKER.channel, "of a later release"), WORKER])

    assert heard.get(timeout=PATIENCE) == WORKER
    assert heard.empty()


def test_what_a_notice_tells_of_is_committed(
    engine: Engine, listener: Listener, heard: "SimpleQueue[Notice]"
) -> None:
    notifier = NoticeSender(partial(notices.send, engine), SystemClock())
    notifier.start()
    with engine.begin() as conn:
        conn.execute(text("INSERT INTO pool (name, slots) VALUES ('new', 1)"))
    notifier.notify(WORKER)

    assert heard.get(timeout=PATIENCE) == WORKER
    with engines.reader(engine).connect() as conn:
        assert conn.scalar(text("SELECT slots FROM pool WHERE name = 'new'")) == 1
    notifier.close()


def test_a_listener_whose_connection_was_lost_connects_again_and_rings_for_what_it_missed(
    engine: Engine, listener: Listener, heard: "SimpleQueue[Notice]"
) -> None:
    with engine.begin() as conn:
        (pid,) = conn.scalars(LISTENERS)
        conn.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": pid})

    assert everything(heard) == {WORKER, STOP}
    notices.send(engine, [STOP])
    assert heard.get(timeout=PATIENCE) == STOP


def test_a_listener_is_in_no_transaction_and_takes_no_connection_of_the_pool(
    engine: Engine, listener: Listener
) -> None:
    with engine.connect() as conn:
        states = conn.scalars(
            text("""
            SELECT state FROM pg_stat_activity
             WHERE datname = current_database() AND query LIKE 'LISTEN %'
        """)
        )
        assert list(states) == ["idle"]
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_a_listener_that_is_closed_leaves_no_connection(
    engine: Engine, heard: "SimpleQueue[Notice]"
) -> None:
    listener = Listener(engine, {WORKER: partial(heard.put, WORKER)}, SystemClock())
    listener.start()
    heard.get(timeout=PATIENCE)
    with engines.reader(engine).connect() as conn:
        (pid,) = conn.scalars(LISTENERS)
        listener.close()
        gone = text("SELECT count(*) FROM pg_stat_activity WHERE pid = :pid")
        while conn.scalar(gone, {"pid": pid}):  # the server takes a moment to notice
            pass


def test_a_listener_may_be_closed_while_the_database_is_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    nowhere = engines.connect("postgresql://headway@127.0.0.1:1/none")
    listener = Listener(nowhere, {}, SystemClock(), Pace(retry_first=1000, retry_longest=1000))
    listener.start()
    while not caplog.messages:
        pass
    listener.close()

    assert "Notices are not heard for 1000.0 s: " in caplog.messages[0]


def test_a_notice_waits_for_no_disk_and_other_commits_do(engine: Engine) -> None:
    """Commits with a notice pass one by one: one that flushed would hold up all others."""
    with engines.reader(engine).connect() as conn:
        conn.execute(text("SET synchronous_commit = on"))
        row = conn.execute(notices.NOTIFY, {"channel": WORKER.channel, "about": ""}).one()

        assert row[0] == "off"
        assert conn.scalar(text("SHOW synchronous_commit")) == "on"
