"""In which order a worker does what it does at a step."""

import os
from datetime import timedelta
from selectors import EVENT_READ
from threading import Event
from typing import Any
from unittest.mock import MagicMock
from uuid import UUID

import pytest

from headway.db.core.attempt_keys import AttemptKey
from headway.metrics.worker import CLAIM_LATENCY, SLOTS
from headway.runtime.daemon.loop import Pace
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.metrics.metrics import observed, value
from headway.testing.time.clock import FakeClock
from headway_worker.attempts.questions import Questions
from headway_worker.database.secret_resolver import SecretResolver
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.supervision.claims import Claims
from headway_worker.supervision.execution import MOST_READING
from headway_worker.supervision.held import WorkState
from headway_worker.supervision.lease_keeper import LeaseKeeper
from headway_worker.supervision.reporter import Reporter
from headway_worker.worker import Worker, WorkerParts


def new_worker(
    database: WorkerDatabase,
    resolver: SecretResolver,
    given: WorkerSettings,
    clock: FakeClock,
    outside: MagicMock,
    launcher: MagicMock | None = None,
) -> Worker:
    """Return a worker whose Spark, and whose launcher unless one is given, is `outside`."""
    questions = Questions(database, resolver, outside, clock, Event())
    return Worker(
        WorkerParts(database, questions, outside, launcher or outside, Pace()), given, clock
    )


@pytest.mark.parametrize("flood", [True, False])
def test_before_it_waits_it_sends_the_reports_that_what_it_has_found_calls_for(
    database: WorkerDatabase,
    resolver: SecretResolver,
    worker_settings: WorkerSettings,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    flood: bool,
) -> None:
    """A look in vain may end a flood; the reports that it is about must not wait any longer."""
    done: list[object] = []

    def collect(claims: Claims[Any]) -> list[Any]:
        if claims.database is database:
            done.append("collect")
        return []

    def report(reporter: Reporter[Any], *, flood: bool) -> None:
        if reporter.database is database:
            done.append({"flood": flood})

    def wait(_worker: Worker) -> None:
        done.append("wait")

    monkeypatch.setattr(Claims, "collect", collect)
    monkeypatch.setattr(Claims, "is_flood", lambda _claims, running: flood and running == 0)
    monkeypatch.setattr(Reporter, "step", report)
    monkeypatch.setattr(Worker, "_watch", wait)
    outside = MagicMock()
    worker = new_worker(database, resolver, worker_settings, clock, outside)
    monkeypatch.setattr(WorkerDatabase, "renew", MagicMock())

    worker.step()
    worker.close()

    assert done == ["collect", {"flood": flood}, "wait"]


def test_a_renewal_is_passed_down_to_nannies_and_to_spark(
    database: WorkerDatabase,
    resolver: SecretResolver,
    worker_settings: WorkerSettings,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outside, key = MagicMock(), AttemptKey(1, 1, UUID(int=1))
    attempt = MagicMock(state=WorkState.RUNNING, step=MagicMock(side_effect=InterruptedError))
    worker = new_worker(database, resolver, worker_settings, clock, outside)
    leases = worker._kind.leases
    outside.hold.assert_called_once_with(leases.until)
    worker._attempts.held[key] = attempt
    leases.grant(key, since=7)
    monkeypatch.setattr(LeaseKeeper, "step", lambda _leases, _keys: True)

    with pytest.raises(InterruptedError):
        worker.step()
    worker.close()

    attempt.execution.child.hold_until.assert_called_once_with(7 + 20 - 5)
    assert outside.hold.call_count == 2


def test_what_it_has_claimed_is_counted_with_how_long_that_was_queued(
    database: WorkerDatabase,
    resolver: SecretResolver,
    worker_settings: WorkerSettings,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outside, work = MagicMock(forker_ready=lambda: False), MagicMock()
    work.claimed.key = AttemptKey(1, 1, UUID(int=1))
    work.claimed.waited = (timedelta(seconds=3), None)
    worker = new_worker(database, resolver, worker_settings, clock, outside)
    monkeypatch.setattr(Claims, "collect", lambda it: [work] if it.database is database else [])
    monkeypatch.setattr(Worker, "_watch", MagicMock(side_effect=InterruptedError))
    monkeypatch.setattr(WorkerDatabase, "renew", MagicMock())
    before = observed(CLAIM_LATENCY)

    with pytest.raises(InterruptedError):
        worker.step()
    worker.close()

    assert observed(CLAIM_LATENCY) == before + 1


@pytest.mark.regression
def test_what_attempts_print_takes_a_part_of_a_step_only(
    database: WorkerDatabase,
    resolver: SecretResolver,
    worker_settings: WorkerSettings,
    clock: FakeClock,
) -> None:
    """Masking a flood of output takes time; what is left is read after leases were looked at."""
    outside = MagicMock()
    worker = new_worker(database, resolver, worker_settings, clock, outside)
    pipes = [os.pipe() for _ in range(5)]
    read: list[int] = []

    def drain(pipe: int) -> bool:
        clock.advance(MOST_READING * 0.6)
        read.append(pipe)
        return bool(os.read(pipe, 10))

    attempt = MagicMock(drain=drain)
    for reading, writing in pipes:
        os.write(writing, b"output")
        worker._selector.register(reading, EVENT_READ, attempt)

    steps = 0
    while len(read) < len(pipes):
        before = len(read)
        worker._watch()
        steps += 1
        assert 0 < len(read) - before <= 2

    assert sorted(read) == sorted(reading for reading, _ in pipes)
    assert steps == 3
    worker.close()
    for pipe in pipes:
        os.close(pipe[0])
        os.close(pipe[1])


def test_to_read_the_slots_does_not_look_for_a_fork_server(
    database: WorkerDatabase,
    resolver: SecretResolver,
    worker_settings: WorkerSettings,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page is read in a thread that ends: a fork server begun there would end with it."""
    ready = MagicMock(return_value=True)
    launcher = MagicMock(forkers=MagicMock(ready=ready))
    worker = new_worker(database, resolver, worker_settings, clock, MagicMock(), launcher)
    monkeypatch.setattr(WorkerDatabase, "renew", MagicMock())
    monkeypatch.setattr(Claims, "collect", lambda _claims: [])
    worker.step()
    looked, total = ready.call_count, worker_settings.slots

    assert [value(SLOTS, name) for name in ("total", "used", "free")] == [total, 0, total]
    assert ready.call_count == looked > 0
    key, held = AttemptKey(1, 1, UUID(int=1)), MagicMock(state=WorkState.ENDING, holds_slot=True)
    held.report = None
    worker._attempts.held[key] = held
    ready.return_value = False
    assert value(SLOTS, "free") == total, "what a step has found is told until the next one"
    worker.step()
    assert [value(SLOTS, name) for name in ("total", "used", "free")] == [total, 1, 0]
    worker.close()
