"""Services wake each other by notices, unless they are told not to."""

import threading
from contextlib import suppress
from functools import partial
from queue import SimpleQueue

import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from headway.db.access import registration
from headway.db.core import engine as engines
from headway.db.core import notices
from headway.db.core.notices import SCHEDULER
from headway.domain.errors import DatabaseError
from headway.runtime.daemon.bell import Bell
from headway.testing.database.pgbouncer import PgBouncer
from headway.testing.processes import modes

PATIENCE = 20.0
LISTENERS = text("""
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND query LIKE 'LISTEN %'
""")

END_ALL = text("""
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
""")

directly = pytest.mark.skipif(modes.pooled(), reason="a pooler in transaction mode cannot LISTEN")


@pytest.fixture(autouse=True)
def as_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADWAY_DATABASE_NOTIFY", raising=False)


@pytest.fixture
def rings() -> "SimpleQueue[str]":
    return SimpleQueue()


@directly
def test_a_service_that_is_notified_is_rung(database_url: str, rings: "SimpleQueue[str]") -> None:
    with (
        registration.registered("scheduler", database_url, Bell()) as scheduler,
        registration.registered("worker", database_url, Bell()) as worker,
    ):
        scheduler.listen({SCHEDULER: partial(rings.put, "ring")})
        rings.get(timeout=PATIENCE)  # the first is for what came before

        worker.notifier.notify(SCHEDULER)

        assert rings.get(timeout=PATIENCE) == "ring"


@directly
def test_what_a_service_says_last_is_heard(
    engine: Engine, database_url: str, rings: "SimpleQueue[str]"
) -> None:
    with registration.registered("scheduler", database_url, Bell()) as scheduler:
        scheduler.listen({SCHEDULER: partial(rings.put, "ring")})
        rings.get(timeout=PATIENCE)
        with registration.registered("worker", database_url, Bell()) as worker:
            worker.notifier.notify(SCHEDULER)

        assert rings.get(timeout=PATIENCE) == "ring"


@pytest.mark.parametrize(
    "variable", ["HEADWAY_DATABASE_NOTIFY=false", "HEADWAY_DATABASE_POOLER=true"]
)
def test_nobody_notifies_or_listens_where_that_is_switched_off(
    engine: Engine,
    database_url: str,
    rings: "SimpleQueue[str]",
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    monkeypatch.setenv(*variable.split("="))
    with registration.registered("scheduler", database_url, Bell()) as process:
        executed: list[object] = []
        event.listen(process.engine, "before_execute", lambda *it: executed.append(it[1]))
        process.listen({SCHEDULER: partial(rings.put, "ring")})
        process.notifier.notify(SCHEDULER)
        with engines.reader(engine).connect() as conn:
            assert conn.scalar(LISTENERS) == 0

    assert notices.NOTIFY not in executed
    assert rings.empty()


def test_notices_are_heard_past_a_pooler(
    database_url: str,
    bouncer: PgBouncer,
    rings: "SimpleQueue[str]",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each service sends through the pooler, and listens at the server itself."""
    monkeypatch.setenv("HEADWAY_DATABASE_POOLER", "true")
    monkeypatch.setenv("HEADWAY_DATABASE_LISTEN_URL", bouncer.past(database_url))
    through = bouncer.through(database_url)
    with (
        registration.registered("scheduler", through, Bell()) as scheduler,
        registration.registered("worker", through, Bell()) as worker,
    ):
        scheduler.listen({SCHEDULER: partial(rings.put, "ring")})
        rings.get(timeout=PATIENCE)  # the first is for what came before

        worker.notifier.notify(SCHEDULER)

        assert rings.get(timeout=PATIENCE) == "ring"


@directly
def test_a_service_leaves_no_listener_and_no_thread(engine: Engine, database_url: str) -> None:
    before = threading.active_count()
    with registration.registered("scheduler", database_url, Bell()) as process:
        process.listen({})
        assert threading.active_count() == before + 2
    assert threading.active_count() == before
    with engines.reader(engine).connect() as conn:
        while conn.scalar(LISTENERS):  # the server takes a moment to notice
            pass


def test_a_service_that_may_only_read_does_not_start(engine: Engine, database_url: str) -> None:
    name = make_url(database_url).database
    with engine.begin() as conn:
        conn.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
    with suppress(DBAPIError), engine.begin() as conn:
        conn.execute(END_ALL)

    refusal = pytest.raises(DatabaseError, match="lets this account read only")
    with refusal, registration.registered("scheduler", database_url, Bell()):
        pass
