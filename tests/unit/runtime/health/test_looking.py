"""A look that may hang, and those who ask for what it has found."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.health.check import HealthCheck
from headway.runtime.health.looking import FRESH, Looking
from headway.testing.time.clock import FakeClock

LONG = 60.0
GOOD = [HealthCheck("database", True, "answers")]


class Slow:
    """A look that ends when it is let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.go = Event()

    def __call__(self) -> list[HealthCheck]:
        self.begun += 1
        assert self.go.wait(LONG)
        return GOOD


class Impatient(SystemClock):
    """A clock on which other seconds pass than those of this machine, and nobody waits for long."""

    def __init__(self) -> None:
        self.passed = 0.0

    def monotonic(self) -> float:
        return self.passed

    def wait(self, event: Event, seconds: float) -> bool:
        self.passed += max(seconds, 0.0)
        return event.is_set()


class Waiting(FakeClock):
    """A clock that stands still while a look is under way."""

    def wait(self, event: Event, seconds: float) -> bool:
        return event.wait(LONG)


@pytest.fixture
def slow() -> Iterator[Slow]:
    look = Slow()
    yield look
    look.go.set()


def test_what_was_found_is_told_to_all_who_ask_soon() -> None:
    clock, looks = Waiting(), iter(range(1000))
    looking = Looking("database", lambda: [HealthCheck("database", True, str(next(looks)))], clock)

    found = [looking()[0].found, looking()[0].found]
    clock.advance(FRESH)
    found.append(looking()[0].found)

    assert found == ["0", "0", "1"]


def test_one_look_serves_all_who_ask_at_once(slow: Slow) -> None:
    looking = Looking("database", slow, Waiting())
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(looking, LONG) for _ in range(8)]
        slow.go.set()

        assert [future.result() for future in asked] == [GOOD] * 8
    assert slow.begun == 1


def test_one_that_hangs_is_not_waited_for_and_not_begun_again(slow: Slow) -> None:
    clock = Impatient()
    looking = Looking("database", slow, clock)

    first = looking()
    assert (clock.passed, first) == (
        2.0,
        [HealthCheck("database", False, "has not answered for 2.0 s")],
    )

    clock.passed = 30.0
    later = looking()

    assert (clock.passed, later[0].found) == (30.0, "has not answered for 30.0 s")
    assert slow.begun == 1


def test_when_a_look_that_hung_has_ended_there_is_another_one(slow: Slow) -> None:
    clock = Impatient()
    looking = Looking("database", slow, clock)
    looking()
    slow.go.set()
    assert looking._last is not None
    assert looking._last.ended.wait(LONG)

    clock.passed += FRESH
    looking()

    assert slow.begun == 2


def test_a_look_that_fails_by_a_mistake_is_no_good_news(monkeypatch: pytest.MonkeyPatch) -> None:
    raised = Event()
    monkeypatch.setattr(threading, "excepthook", lambda _raised: raised.set())

    def fail() -> list[HealthCheck]:
        raise ValueError("bug")

    [check] = Looking("database", fail, SystemClock())(LONG)

    assert not check.ok
    assert raised.wait(LONG), "it is not hidden"
