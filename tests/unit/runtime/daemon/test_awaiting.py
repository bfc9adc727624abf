"""What waits at its start for something that is not there yet."""

import logging
from random import Random
from threading import Event

import pytest

from headway.runtime.daemon.awaiting import Awaiting
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.loop import Pace

QUICK = Pace(retry_first=0.001, retry_longest=0.001)


class AwayError(Exception):
    """It is not there."""


class Stopping(SystemClock):
    """A clock during whose long waits the bell is stopped."""

    def __init__(self, bell: Bell) -> None:
        self.bell = bell

    def wait(self, event: Event, seconds: float) -> bool:
        if seconds > 100:
            self.bell.stop()
        return super().wait(event, seconds)


def awaiting(*outcomes: Exception | None, bell: Bell | None = None) -> Awaiting:
    """What makes contact after these outcomes, each once."""
    left = list(outcomes)

    def contact() -> None:
        if (error := left.pop(0)) is not None:
            raise error

    def passes(error: BaseException) -> bool:
        return isinstance(error, AwayError)

    return Awaiting(contact, passes, bell or Bell(), SystemClock(), QUICK, Random(1))


def test_it_tries_until_there_is_contact(caplog: pytest.LogCaptureFixture) -> None:
    away = AwayError("no\n  answer")

    assert awaiting(away, away, None).run()

    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["action=wait next_try=0.0s: no answer"] * 2
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_another_error_is_raised() -> None:
    with pytest.raises(ValueError, match="bug"):
        awaiting(AwayError(), ValueError("bug")).run()


def test_a_stop_ends_the_wait_between_two_tries() -> None:
    bell = Bell()
    it = awaiting(AwayError(), bell=bell)
    it.pace = Pace(retry_first=1000, retry_longest=1000)
    it.clock = Stopping(bell)

    assert not it.run()


def test_a_stop_does_not_wait_for_a_contact_that_hangs() -> None:
    bell, begun, never = Bell(), Event(), Event()

    def hang() -> None:
        begun.set()
        bell.stop()
        never.wait(60)

    try:
        assert not Awaiting(hang, lambda _: True, bell, SystemClock()).run()
        assert begun.is_set()
    finally:
        never.set()


def test_a_bell_that_was_stopped_before_makes_no_contact() -> None:
    bell = Bell()
    bell.stop()

    assert not awaiting(bell=bell).run()
