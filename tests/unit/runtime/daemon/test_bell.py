from headway.runtime.daemon.bell import Bell
from headway.testing.time.clock import FakeClock


def test_a_wait_that_nobody_ends_is_a_long_one() -> None:
    clock, bell = FakeClock(), Bell()

    assert not bell.wait(clock, 5)
    assert clock.monotonic() == 5


def test_a_ring_ends_the_wait() -> None:
    clock, bell = FakeClock(), Bell()
    bell.ring()

    assert bell.wait(clock, 5)
    assert clock.monotonic() == 0


def test_a_ring_that_was_answered_ends_no_wait() -> None:
    clock, bell = FakeClock(), Bell()
    bell.ring()
    bell.answer()

    assert not bell.wait(clock, 5)


def test_a_ring_after_the_answer_is_not_lost() -> None:
    clock, bell = FakeClock(), Bell()
    bell.ring()
    bell.answer()
    bell.ring()

    assert bell.wait(clock, 5)


def test_a_stop_cannot_be_answered() -> None:
    clock, bell = FakeClock(), Bell()
    bell.stop()
    bell.answer()

    assert bell.stopped.is_set()
    assert bell.wait(clock, 5)
