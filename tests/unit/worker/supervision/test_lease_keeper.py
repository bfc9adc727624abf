from concurrent.futures import Executor, Future
from typing import Protocol

import pytest

from headway.db.core.attempt_keys import AttemptKey
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.time.clock import FakeClock
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.supervision.background_call import BackgroundCall
from headway_worker.supervision.lease_keeper import LeaseKeeper, Renewal

HELD = 15.0
"""Lease duration less kill grace: for how long a grant lets an attempt run."""


class Threads(Protocol):
    begun: list[Future[object]]

    def finish(self, result: object) -> None: ...
    def fail(self, error: Exception | None = None) -> None: ...


@pytest.fixture
def leases(
    database: WorkerDatabase, worker_settings: WorkerSettings, clock: FakeClock, threads: Executor
) -> LeaseKeeper[AttemptKey]:
    renewal: BackgroundCall[Renewal[AttemptKey]] = BackgroundCall(
        "renew", threads, lambda: None, clock
    )
    return LeaseKeeper(database, worker_settings, clock, renewal)


def test_an_attempt_ends_before_its_lease_can(
    leases: LeaseKeeper[AttemptKey], clock: FakeClock, keys: list[AttemptKey]
) -> None:
    leases.grant(keys[0], since=0)

    clock.advance(HELD - 0.001)
    assert not leases.has_ended(keys[0])
    clock.advance(0.001)
    assert leases.has_ended(keys[0])


def test_what_was_never_granted_or_is_forgotten_must_not_run(
    leases: LeaseKeeper[AttemptKey], keys: list[AttemptKey]
) -> None:
    leases.grant(keys[0], since=0)
    leases.forget(keys[0])
    leases.forget(keys[1])

    assert leases.has_ended(keys[0])
    assert leases.has_ended(keys[1])


def test_a_renewal_counts_from_when_it_was_asked_for_not_from_its_answer(
    leases: LeaseKeeper[AttemptKey], clock: FakeClock, threads: Threads, keys: list[AttemptKey]
) -> None:
    leases.grant(keys[0], since=0)
    clock.advance(4)
    leases.step(keys[:1])
    clock.advance(8)
    threads.finish(Renewal({keys[0]: False}))
    leases.step(keys[:1])

    clock.advance(4 + HELD - 12 - 0.001)
    assert not leases.has_ended(keys[0])
    clock.advance(0.001)
    assert leases.has_ended(keys[0])


def test_one_that_was_given_away_ends_at_once_and_the_others_go_on(
    leases: LeaseKeeper[AttemptKey], threads: Threads, keys: list[AttemptKey]
) -> None:
    for key in keys:
        leases.grant(key, since=0)
    leases.step(keys)
    threads.finish(Renewal({keys[0]: False, keys[2]: False}))
    leases.step(keys)

    assert [leases.has_ended(key) for key in keys] == [False, True, False]


def test_while_the_database_is_away_time_runs_out(
    leases: LeaseKeeper[AttemptKey], clock: FakeClock, threads: Threads, keys: list[AttemptKey]
) -> None:
    leases.grant(keys[0], since=0)
    while clock.monotonic() < HELD:
        assert not leases.has_ended(keys[0])
        begun = len(threads.begun)
        leases.step(keys[:1])
        if len(threads.begun) > begun:
            threads.fail()
        clock.advance(0.5)

    assert leases.has_ended(keys[0])


def test_one_that_ended_meanwhile_stays_forgotten(
    leases: LeaseKeeper[AttemptKey], threads: Threads, keys: list[AttemptKey]
) -> None:
    leases.grant(keys[0], since=0)
    leases.step(keys[:1])
    leases.forget(keys[0])
    threads.finish(Renewal({keys[0]: False}))
    leases.step([])

    assert leases.has_ended(keys[0])


def test_one_that_was_claimed_after_the_question_is_not_judged_by_its_answer(
    leases: LeaseKeeper[AttemptKey], threads: Threads, keys: list[AttemptKey]
) -> None:
    leases.grant(keys[0], since=0)
    leases.step(keys[:1])
    leases.grant(keys[1], since=0)
    threads.finish(Renewal({keys[0]: False}))
    leases.step(keys[:2])

    assert not leases.has_ended(keys[1])


def test_it_renews_at_every_heartbeat_even_with_nothing_to_renew(
    leases: LeaseKeeper[AttemptKey], clock: FakeClock, threads: Threads
) -> None:
    """A renewal is the worker's own heartbeat as well."""
    for _ in range(8):
        leases.step([])
        if threads.begun and not threads.begun[-1].done():
            threads.finish(Renewal({}))
        clock.advance(1)

    assert len(threads.begun) == 4


def test_one_that_is_told_to_stop_is_this_workers_until_it_is_forgotten(
    leases: LeaseKeeper[AttemptKey], threads: Threads, keys: list[AttemptKey]
) -> None:
    for key in keys[:2]:
        leases.grant(key, since=0)
    leases.step(keys[:2])
    threads.finish(Renewal({keys[0]: False, keys[1]: True}))
    leases.step(keys[:2])

    assert [leases.is_stopping(key) for key in keys] == [False, True, False]
    assert not leases.has_ended(keys[1])

    leases.forget(keys[1])
    assert not leases.is_stopping(keys[1])


def test_one_that_ended_meanwhile_is_not_told_to_stop_any_more(
    leases: LeaseKeeper[AttemptKey], threads: Threads, keys: list[AttemptKey]
) -> None:
    leases.grant(keys[0], since=0)
    leases.step(keys[:1])
    leases.forget(keys[0])
    threads.finish(Renewal({keys[0]: True}))
    leases.step([])

    assert not leases.is_stopping(keys[0])


def test_a_notice_has_leases_renewed_at_once(
    leases: LeaseKeeper[AttemptKey], clock: FakeClock, threads: Threads, keys: list[AttemptKey]
) -> None:
    """So that one which is to stop stops soon, and not at the next heartbeat."""
    leases.step([])
    threads.finish(Renewal({}))
    clock.advance(0.1)
    leases.step(keys)
    assert len(threads.begun) == 1

    leases.chore.hurry()
    leases.step(keys)

    assert len(threads.begun) == 2


def test_a_renewal_brings_that_the_worker_is_to_drain(
    leases: LeaseKeeper[AttemptKey], threads: Threads
) -> None:
    leases.step(())
    assert not leases.drain
    threads.finish(Renewal({}, drain=True))
    leases.step(())

    assert leases.drain


def test_the_moment_to_pass_down_moves_with_each_renewal(
    leases: LeaseKeeper[AttemptKey], clock: FakeClock, threads: Threads, keys: list[AttemptKey]
) -> None:
    leases.grant(keys[0], since=0)
    assert leases.until(keys[0]) == HELD
    clock.advance(4)
    assert not leases.step(keys[:1])
    clock.advance(1)
    threads.finish(Renewal({keys[0]: False}))

    assert leases.step(keys[:1])
    assert leases.until(keys[0]) == 4 + HELD
    assert not leases.step(keys[:1])
    leases.forget(keys[0])
    assert leases.until(keys[0]) == 0.0


def test_a_renewal_that_failed_moves_nothing(
    leases: LeaseKeeper[AttemptKey], threads: Threads, keys: list[AttemptKey]
) -> None:
    leases.grant(keys[0], since=0)
    leases.step(keys[:1])
    threads.fail()

    assert not leases.step(keys[:1])
    assert leases.until(keys[0]) == HELD


def test_one_that_was_given_away_keeps_its_moment(
    leases: LeaseKeeper[AttemptKey], threads: Threads, keys: list[AttemptKey]
) -> None:
    """It ends at once, and what others share with it has until then."""
    leases.grant(keys[0], since=0)
    leases.step(keys[:1])
    threads.finish(Renewal({}))
    leases.step([])

    assert leases.has_ended(keys[0])
    assert leases.until(keys[0]) == HELD
