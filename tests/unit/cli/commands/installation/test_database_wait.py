"""What `headway db wait` waits for, and what it says of it."""

import logging

import pytest
from sqlalchemy.exc import OperationalError, ProgrammingError

from headway.cli.commands.installation.database_wait import LastWord, passes, wait
from headway.domain.errors import DatabaseError, NewerSchemaError, ReplicaError, SettingsError
from headway.runtime.daemon.bell import Bell
from headway.testing.time.clock import ExpiringClock

AWAY = DatabaseError("The database does not answer:\n  refused")
UNMIGRATED = DatabaseError("The database has no tables; run `headway db migrate`.")


class RefusedError(Exception):
    """An error of the driver."""

    pgcode = "42P01"


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (AWAY, True),
        (UNMIGRATED, True),
        (ReplicaError("a fail-over"), True),
        (OperationalError("SELECT", {}, Exception("the server has gone away")), True),
        (NewerSchemaError("too new"), False),
        (ProgrammingError("SELECT", {}, RefusedError()), False),
        (SettingsError("HEADWAY_DATABASE_POOLER: perhaps"), False),
        (ValueError("bug"), False),
    ],
)
def test_it_waits_for_what_may_pass(error: BaseException, waits: bool) -> None:
    assert passes(error) is waits


def test_a_line_is_logged_for_each_change_of_what_is_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = LastWord()

    for error in (AWAY, AWAY, UNMIGRATED, UNMIGRATED, AWAY):
        told.tell(error, 1.0)

    away = "action=wait: The database does not answer: refused"
    unmigrated = "action=wait: The database has no tables; run `headway db migrate`."
    assert [record.getMessage() for record in caplog.records] == [away, unmigrated, away]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert told.last == "The database does not answer: refused"


def test_after_the_timeout_it_says_what_is_missing() -> None:
    """Nobody listens at port 1."""
    url, bell = "postgresql://headway_worker:hidden@127.0.0.1:1/headway", Bell()

    with pytest.raises(DatabaseError) as caught:
        wait(url, 600, bell, ExpiringClock(bell.stopped, 600))

    assert str(caught.value).startswith("The database is not ready after 600 s. The database at ")
    assert "Connection refused" in str(caught.value)
    assert "Start it, or set HEADWAY_DATABASE_URL" in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_a_signal_ends_it() -> None:
    bell = Bell()
    bell.stop()

    with pytest.raises(DatabaseError, match="ended by a signal"):
        wait("postgresql://127.0.0.1:1/headway", None, bell)
