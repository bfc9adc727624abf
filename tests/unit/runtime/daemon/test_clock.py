from datetime import UTC, timedelta
from threading import Event

from headway.runtime.daemon.clock import Clock, SystemClock
from headway.testing.time.clock import NOON, FakeClock


def test_the_system_clock_is_aware_and_utc() -> None:
    assert SystemClock().now().tzinfo is UTC


def test_a_set_event_ends_the_wait_of_the_system_clock() -> None:
    clock, event = SystemClock(), Event()
    event.set()
    before = clock.monotonic()

    assert clock.wait(event, 60)
    assert clock.monotonic() - before < 30


def test_the_system_clock_takes_a_negative_wait_for_none() -> None:
    assert not SystemClock().wait(Event(), -1)


def test_waiting_moves_the_fake_clock() -> None:
    clock = FakeClock()

    assert not clock.wait(Event(), 90)
    assert (clock.monotonic(), clock.now()) == (90, NOON + timedelta(seconds=90))


def test_a_set_event_ends_the_wait_of_the_fake_clock() -> None:
    clock, event = FakeClock(), Event()
    event.set()

    assert clock.wait(event, 90)
    assert clock.monotonic() == 0


def test_the_fake_clock_only_goes_forward() -> None:
    clock = FakeClock()
    clock.advance(-5)

    assert clock.monotonic() == 0


def test_both_are_clocks() -> None:
    clocks: list[Clock] = [SystemClock(), FakeClock()]

    assert all(clock.now().utcoffset() == timedelta(0) for clock in clocks)
