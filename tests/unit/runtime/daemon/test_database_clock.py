"""The database's clock, as a process knows it."""

import logging
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from headway.runtime.daemon.database_clock import DatabaseClock
from headway.testing.time.clock import FakeClock

THEIRS = datetime(2026, 5, 1, tzinfo=UTC)


def clock_ahead(seconds: float) -> FakeClock:
    """A clock that is so many seconds ahead of THEIRS."""
    return FakeClock(THEIRS + timedelta(seconds=seconds))


def compared(seconds: float, bound: float = 60.0) -> DatabaseClock:
    """What a process knows whose clock is so many seconds ahead, after one comparison."""
    clock = clock_ahead(seconds)
    database = DatabaseClock(clock, bound)
    database.compare(clock.now(), THEIRS)
    return database


@pytest.mark.parametrize("seconds", [0.0, 600.0, -600.0])
def test_the_time_is_the_databases_whatever_this_clock_shows(seconds: float) -> None:
    database = compared(seconds)

    assert database.now() == THEIRS
    database.wait(Event(), 5)
    assert database.now() == THEIRS + timedelta(seconds=5)


def test_a_step_of_this_clock_changes_nothing() -> None:
    clock = clock_ahead(0)
    database = DatabaseClock(clock)
    database.took(THEIRS)

    clock._start += timedelta(hours=1)

    assert database.now() == THEIRS


def test_a_reading_takes_the_place_of_the_one_before() -> None:
    database = compared(0)

    database.took(THEIRS - timedelta(hours=1))

    assert database.now() == THEIRS - timedelta(hours=1)


@pytest.mark.parametrize("seconds", [61.0, -61.0])
def test_a_clock_beyond_the_bound_must_not_schedule(seconds: float) -> None:
    assert compared(seconds).is_out_of_bounds
    assert not compared(seconds, bound=0).is_out_of_bounds
    assert not compared(seconds / 2).is_out_of_bounds


def test_a_clock_that_was_never_compared_is_not_out_of_bounds() -> None:
    assert not DatabaseClock(FakeClock(), 60).is_out_of_bounds


def test_the_log_says_when_clocks_begin_to_differ_and_when_they_no_longer_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = clock_ahead(0)
    database = DatabaseClock(clock, 60)
    with caplog.at_level(logging.INFO):
        for seconds in (0, 0, 12, 13, 600, 601, 12, 0, 0):
            now = THEIRS + timedelta(seconds=seconds)
            clock._start = now
            database.compare(now, THEIRS)

    levels = [(record.levelname, record.getMessage().split(":")[0]) for record in caplog.records]
    assert levels == [
        ("WARNING", "action=clock_skew seconds=12.0"),
        ("ERROR", "action=clock_skew seconds=600.0"),
        ("WARNING", "action=clock_skew seconds=12.0"),
        ("INFO", "action=clock_right"),
    ]
    assert "HEADWAY_SCHEDULER_MAX_CLOCK_SKEW (60 s)" in caplog.records[1].getMessage()
