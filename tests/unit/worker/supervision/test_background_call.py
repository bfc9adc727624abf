from concurrent.futures import Executor
from typing import Protocol

import pytest

from headway.runtime.daemon.loop import Pace
from headway.testing.time.clock import FakeClock
from headway_worker.supervision.background_call import BackgroundCall


class Threads(Protocol):
    begun: list[object]

    def finish(self, result: object) -> None: ...
    def fail(self, error: Exception | None = None) -> None: ...


def nothing() -> int:
    return 0


@pytest.fixture
def bell() -> list[str]:
    return []


@pytest.fixture
def chore(threads: Executor, clock: FakeClock, bell: list[str]) -> BackgroundCall[int]:
    pace = Pace(retry_first=1, retry_longest=3)
    return BackgroundCall("test", threads, lambda: bell.append("ding"), clock, pace)


def test_it_is_begun_once_at_a_time(chore: BackgroundCall[int], threads: Threads) -> None:
    assert chore.may_begin()
    assert not chore.pending

    chore.begin(nothing)
    assert not chore.may_begin()
    assert chore.pending
    assert not chore.done()

    threads.finish(7)
    assert chore.done()
    assert not chore.may_begin()

    assert chore.collect() == (7,)
    assert not chore.pending
    assert not chore.done()
    assert chore.may_begin()


def test_it_rings_when_it_is_done(
    chore: BackgroundCall[int], threads: Threads, bell: list[str]
) -> None:
    chore.begin(nothing)
    assert bell == []

    threads.finish(7)
    assert bell == ["ding"]


def test_nothing_is_a_result_as_well(chore: BackgroundCall[None], threads: Threads) -> None:
    chore.begin(lambda: None)
    threads.finish(None)

    assert chore.collect() == (None,)


def test_it_may_keep_a_rhythm(
    chore: BackgroundCall[int], threads: Threads, clock: FakeClock
) -> None:
    chore.begin(nothing, every=2)
    clock.advance(1.5)
    threads.finish(7)
    chore.collect()

    assert not chore.may_begin()
    clock.advance(0.5)
    assert chore.may_begin()


def test_a_failure_that_passes_is_waited_out_a_little_longer_each_time(
    chore: BackgroundCall[int], threads: Threads, clock: FakeClock
) -> None:
    waits = []
    for _ in range(4):
        chore.begin(nothing)
        threads.fail()
        assert chore.collect() is None
        began = clock.monotonic()
        while not chore.may_begin():
            clock.advance(0.5)
        waits.append(clock.monotonic() - began)

    assert waits == [1, 2, 3, 3]


def test_after_a_success_the_next_failure_is_the_first_again(
    chore: BackgroundCall[int], threads: Threads, clock: FakeClock
) -> None:
    for failing in (True, True, False, True):
        chore.begin(nothing)
        if failing:
            threads.fail()
        else:
            threads.finish(7)
        chore.collect()

    clock.advance(1)
    assert chore.may_begin()


def test_any_other_error_is_raised_where_it_is_collected(
    chore: BackgroundCall[int], threads: Threads
) -> None:
    chore.begin(nothing)
    threads.fail(ValueError("bug"))

    with pytest.raises(ValueError, match="bug"):
        chore.collect()


def test_a_failure_is_one_line(
    chore: BackgroundCall[int], threads: Threads, caplog: pytest.LogCaptureFixture
) -> None:
    chore.begin(nothing)
    threads.fail()
    chore.collect()

    assert caplog.messages == ["test: failed 1 times, next try in 1.0 s: connection refused"]
