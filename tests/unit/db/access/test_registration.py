"""How a service waits for a database that goes away while the service registers."""

from itertools import pairwise
from typing import Any

import pytest
from psycopg2 import OperationalError as ConnectionLost
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import OperationalError

from headway.db.access import migrate, registration
from headway.db.access.registration import Registered
from headway.domain.errors import DatabaseError, RequestError
from headway.runtime.daemon.awaiting import Awaiting
from headway.runtime.daemon.bell import Bell
from headway.runtime.health import Health
from headway.testing.time.clock import FakeClock


@pytest.mark.regression
def test_a_register_that_fails_is_tried_again_after_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The database answers each contact, and fails each time that a row is written."""
    clock, me, waits = FakeClock(), object(), []
    errors = [DatabaseError("it is shutting down")] * 4

    def register() -> Any:
        waits.append(clock.monotonic())
        if errors:
            raise errors.pop()
        return me

    monkeypatch.setattr(Awaiting, "run", lambda _waiting: True)
    monkeypatch.setattr(registration, "_is_away", lambda _engine, _error: True)
    engine = create_engine("postgresql+psycopg2://")

    assert registration._await(engine, Health(Bell(), clock), register) is me
    pauses = [after - before for before, after in pairwise(waits)]
    assert len(pauses) == 4
    assert all(pause > 0 for pause in pauses)
    assert pauses == sorted(pauses)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_connection_that_is_lost_as_it_begins_is_waited_for(
    wrapped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLAlchemy raises its error from that of psycopg2, and ours is raised from SQLAlchemy's."""
    clock, me, tries = FakeClock(), object(), []

    def lose() -> None:
        lost = ConnectionLost("FATAL:  terminating connection due to unexpected postmaster exit")
        raise OperationalError("", {}, lost) from lost

    def register() -> Any:
        tries.append(clock.monotonic())
        if len(tries) > 1:
            return me
        try:
            lose()
        except OperationalError as error:
            if wrapped:
                raise DatabaseError("the database does not answer") from error
            raise
        return None

    monkeypatch.setattr(Awaiting, "run", lambda _waiting: True)
    monkeypatch.setattr("headway.db.core.engine.sqlstate_of_login", lambda *_: None)
    engine = create_engine("postgresql+psycopg2://")

    assert registration._await(engine, Health(Bell(), clock), register) is me


def test_an_error_that_stays_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def register() -> Any:
        raise DatabaseError("it is not migrated")

    monkeypatch.setattr(Awaiting, "run", lambda _waiting: True)
    monkeypatch.setattr(registration, "_is_away", lambda _engine, _error: False)
    engine = create_engine("postgresql+psycopg2://")

    with pytest.raises(DatabaseError, match="not migrated"):
        registration._await(engine, Health(Bell(), FakeClock()), register)


def test_a_service_that_makes_contact_again_and_again_is_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, me, alive = FakeClock(), object(), []
    health = Health(Bell(), clock)

    def run(waiting: Awaiting) -> bool:
        for _ in range(3):
            clock.advance(1000)
            waiting.contact()
            alive.append(health.alive()[0].ok)
        return True

    def register() -> Any:
        return me

    monkeypatch.setattr(Awaiting, "run", run)
    monkeypatch.setattr(migrate, "contact", lambda _engine: None)

    assert registration._await(create_engine("postgresql+psycopg2://"), health, register) is me
    assert alive == [True, True, True]


def registered(bell: Bell, clock: FakeClock) -> Registered:
    """A process whose database is of no importance."""
    unused: Any = None
    engine = create_engine("sqlite://")
    return Registered(engine, unused, unused, False, Health(bell, clock), unused)


@pytest.mark.regression
def test_what_a_new_process_tells_is_told_again_when_the_database_was_away() -> None:
    clock, told = FakeClock(), []
    errors = [OperationalError("UPDATE", {}, ConnectionLost("gone"))] * 3

    def tell(_conn: Connection) -> None:
        told.append(clock.monotonic())
        if errors:
            raise errors.pop()

    registered(Bell(), clock).tell(tell)

    pauses = [after - before for before, after in pairwise(told)]
    assert len(pauses) == 3
    assert all(pause > 0 for pause in pauses)


def test_a_process_that_is_told_to_stop_tells_no_more() -> None:
    bell = Bell()

    def tell(_conn: Connection) -> None:
        bell.stop()
        raise OperationalError("UPDATE", {}, ConnectionLost("gone"))

    registered(bell, FakeClock()).tell(tell)


def test_an_error_of_what_is_told_is_raised() -> None:
    def tell(_conn: Connection) -> None:
        raise RequestError("it is wrong")

    with pytest.raises(RequestError):
        registered(Bell(), FakeClock()).tell(tell)
