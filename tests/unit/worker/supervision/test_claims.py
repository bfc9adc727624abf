"""When a worker looks for work: at once when told, ever more seldom while there is none."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Protocol

import pytest

from headway.runtime.daemon.loop import Pace
from headway.testing.time.clock import FakeClock
from headway_worker.database.worker_database import AttemptWork, WorkerDatabase
from headway_worker.supervision.background_call import BackgroundCall
from headway_worker.supervision.claims import GATHER, Claims

WORK: list[AttemptWork] = [None]  # type: ignore[list-item]


class Threads(Protocol):
    begun: list[Future[object]]

    def finish(self, result: object) -> None: ...
    def fail(self, error: Exception | None = None) -> None: ...


def submit(call: Callable[[], list[AttemptWork]], /) -> Future[list[AttemptWork]]:
    """Do it at once, as a thread that is never late."""
    future: Future[list[AttemptWork]] = Future()
    future.set_result(call())
    return future


@pytest.fixture
def chore(threads: Executor, clock: FakeClock) -> BackgroundCall[list[AttemptWork]]:
    return BackgroundCall("claim", threads, lambda: None, clock, Pace(retry_first=9))


@pytest.fixture
def claims(
    database: WorkerDatabase, chore: BackgroundCall[list[AttemptWork]], clock: FakeClock
) -> Claims[AttemptWork]:
    return Claims(database, chore, clock, Pace(first=1, idle=4))


def wait(claims: Claims[AttemptWork], clock: FakeClock, threads: Threads) -> float:
    """Let time pass until the next look begins; return how long that was."""
    begun, since = len(threads.begun), clock.monotonic()
    claims.step(8)
    while len(threads.begun) == begun:
        clock.advance(claims.due_in(8))
        claims.step(8)
    return clock.monotonic() - since


def test_looks_in_vain_grow_rarer(
    claims: Claims[AttemptWork], clock: FakeClock, threads: Threads
) -> None:
    waits = []
    for _ in range(5):
        waits.append(wait(claims, clock, threads))
        threads.finish([])
        assert claims.collect() == []

    assert waits == [0, 1, 2, 4, 4]


def test_after_work_it_looks_again_at_once(
    claims: Claims[AttemptWork], clock: FakeClock, threads: Threads
) -> None:
    for found in ([], [], WORK):
        wait(claims, clock, threads)
        threads.finish(found)
        assert claims.collect() == found

    assert wait(claims, clock, threads) == 0


def test_a_notice_ends_the_wait_and_makes_the_next_one_short(
    claims: Claims[AttemptWork],
    chore: BackgroundCall[list[AttemptWork]],
    clock: FakeClock,
    threads: Threads,
) -> None:
    for _ in range(3):
        wait(claims, clock, threads)
        threads.finish([])
        claims.collect()

    chore.hurry()
    assert wait(claims, clock, threads) == 0
    threads.finish([])
    claims.collect()
    assert wait(claims, clock, threads) == 1


def test_a_notice_during_a_claim_leads_to_another_one(
    claims: Claims[AttemptWork],
    chore: BackgroundCall[list[AttemptWork]],
    clock: FakeClock,
    threads: Threads,
) -> None:
    wait(claims, clock, threads)
    chore.hurry()
    threads.finish([])
    claims.collect()

    assert wait(claims, clock, threads) == 0


def test_a_notice_waits_for_a_free_slot(
    claims: Claims[AttemptWork], chore: BackgroundCall[list[AttemptWork]], threads: Threads
) -> None:
    chore.hurry()
    claims.step(0)
    assert threads.begun == []

    claims.step(1)
    assert len(threads.begun) == 1


def test_nothing_is_due_without_a_free_slot(claims: Claims[AttemptWork]) -> None:
    assert claims.due_in(0) == float("inf")


def test_it_looks_at_once_when_an_attempt_has_ended_and_soon_after_its_report(
    claims: Claims[AttemptWork], clock: FakeClock, threads: Threads
) -> None:
    for _ in range(4):
        wait(claims, clock, threads)
        threads.finish([])
        claims.collect()

    claims.ended()
    assert wait(claims, clock, threads) == 0
    threads.finish([])
    claims.collect()
    clock.advance(0.5)
    claims.reported()
    assert wait(claims, clock, threads) == 0.5


def test_neither_cuts_short_the_wait_after_a_failure(
    claims: Claims[AttemptWork],
    chore: BackgroundCall[list[AttemptWork]],
    clock: FakeClock,
    threads: Threads,
) -> None:
    wait(claims, clock, threads)
    threads.fail()
    claims.collect()
    chore.hurry()
    claims.ended()
    claims.reported()

    assert wait(claims, clock, threads) == 9


def test_a_look_claims_only_what_is_there_and_a_notice_claims_unseen(
    claims: Claims[AttemptWork],
    chore: BackgroundCall[list[AttemptWork]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    queued = [False]

    def any_queued(_database: WorkerDatabase) -> bool:
        asked.append("look")
        return queued[0]

    def claim(_database: WorkerDatabase, free_slots: int) -> list[AttemptWork]:
        asked.append(f"claim {free_slots}")
        return []

    monkeypatch.setattr(WorkerDatabase, "any_queued", any_queued)
    monkeypatch.setattr(WorkerDatabase, "claim", claim)
    monkeypatch.setattr(chore.threads, "submit", submit)

    for queued[0], noticed in ((False, False), (True, False), (False, True)):
        asked.append("|")
        if noticed:
            chore.hurry()
        chore.soon(0)
        claims.step(3)
        claims.collect()

    assert asked == ["|", "look", "|", "look", "claim 3", "|", "claim 3"]


def test_it_claims_unseen_while_claims_bring_all_that_they_ask_for(
    claims: Claims[AttemptWork],
    chore: BackgroundCall[list[AttemptWork]],
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def any_queued(_database: WorkerDatabase) -> bool:
        asked.append("look")
        return True

    def claim(_database: WorkerDatabase, free_slots: int) -> list[AttemptWork]:
        asked.append(f"claim {free_slots}")
        return WORK

    monkeypatch.setattr(WorkerDatabase, "any_queued", any_queued)
    monkeypatch.setattr(WorkerDatabase, "claim", claim)
    monkeypatch.setattr(chore.threads, "submit", submit)

    for free_slots in (1, 1, 2, 2):
        claims.step(free_slots)
        claims.collect()
        claims.ended()
        clock.advance(GATHER)

    assert asked == ["look", "claim 1", "claim 1", "claim 2", "look", "claim 2"]


def test_slots_that_fall_free_one_by_one_are_filled_together(
    claims: Claims[AttemptWork],
    chore: BackgroundCall[list[AttemptWork]],
    clock: FakeClock,
    threads: Threads,
) -> None:
    wait(claims, clock, threads)
    threads.finish(WORK)
    claims.collect()

    chore.hurry()
    claims.step(4)
    assert (len(threads.begun), claims.due_in(4)) == (1, GATHER)
    clock.advance(GATHER)
    claims.step(4)
    assert len(threads.begun) == 2


@pytest.mark.parametrize("free_slots", [5, 8])
def test_where_little_else_runs_nothing_is_waited_for(
    claims: Claims[AttemptWork],
    chore: BackgroundCall[list[AttemptWork]],
    clock: FakeClock,
    threads: Threads,
    free_slots: int,
) -> None:
    wait(claims, clock, threads)
    threads.finish(WORK)
    claims.collect()

    chore.hurry()
    claims.step(free_slots)
    assert len(threads.begun) == 2


@pytest.mark.parametrize(
    ("brought", "running", "flood"),
    [
        ([], 0, False),
        ([1], 8, False),
        ([1, 1], 8, True),
        ([1, 0, 1], 8, False),
        ([1, 1, 0], 8, False),
        ([8], 8, True),
        ([8, 0, 1], 8, True),
        ([8, 0, 1, 0, 1], 8, False),
        ([1, 2], 1, True),
        ([8, 0], 4, True),
        ([8, 0], 3, False),
        ([8, 0, 2], 3, True),
    ],
)
def test_a_flood_is_more_work_than_one_attempt_waits_for(
    claims: Claims[AttemptWork],
    clock: FakeClock,
    threads: Threads,
    brought: list[int],
    running: int,
    flood: bool,
) -> None:
    for number in brought:
        wait(claims, clock, threads)
        threads.finish(WORK * number)
        claims.collect()

    assert claims.is_flood(running) is flood
