from concurrent.futures import Executor, Future
from typing import Protocol

import pytest

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution.attempts import Report
from headway.domain.dag.retry import Next
from headway.domain.states import Outcome, TaskState
from headway.testing.time.clock import FakeClock
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.supervision.background_call import BackgroundCall
from headway_worker.supervision.reporter import GATHER, Reporter


class Threads(Protocol):
    begun: list[Future[object]]

    def finish(self, result: object) -> None: ...
    def fail(self, error: Exception | None = None) -> None: ...


def done(key: AttemptKey) -> Report:
    return Report(key=key, outcome=Outcome.SUCCESS, following=Next(TaskState.SUCCESS))


@pytest.fixture
def reported() -> list[AttemptKey]:
    return []


@pytest.fixture
def reporter(
    database: WorkerDatabase, clock: FakeClock, threads: Executor, reported: list[AttemptKey]
) -> Reporter[AttemptKey]:
    sending: BackgroundCall[None] = BackgroundCall("report", threads, lambda: None, clock)
    return Reporter(database, sending, reported.append)


def test_with_nothing_to_report_nothing_is_sent(
    reporter: Reporter[AttemptKey], threads: Threads
) -> None:
    reporter.step(flood=True)

    assert threads.begun == []


def test_a_report_is_told_of_once_the_database_has_taken_it(
    reporter: Reporter[AttemptKey],
    threads: Threads,
    reported: list[AttemptKey],
    keys: list[AttemptKey],
) -> None:
    reporter.add(done(keys[0]))
    reporter.step(flood=True)
    assert reported == []

    threads.finish(None)
    reporter.step(flood=True)

    assert reported == keys[:1]


def test_what_comes_together_is_sent_together_and_what_comes_later_waits(
    reporter: Reporter[AttemptKey],
    threads: Threads,
    clock: FakeClock,
    reported: list[AttemptKey],
    keys: list[AttemptKey],
) -> None:
    reporter.add(done(keys[0]))
    reporter.add(done(keys[1]))
    reporter.step(flood=True)
    reporter.add(done(keys[2]))
    reporter.step(flood=True)
    assert len(threads.begun) == 1

    threads.finish(None)
    reporter.step(flood=True)
    assert reported == keys[:2]
    assert (len(threads.begun), reporter.due_in()) == (1, GATHER)

    clock.advance(GATHER)
    reporter.step(flood=True)
    assert len(threads.begun) == 2
    threads.finish(None)
    reporter.step(flood=True)
    assert reported == keys


def test_where_there_is_no_flood_reports_are_sent_at_once(
    reporter: Reporter[AttemptKey], threads: Threads, keys: list[AttemptKey]
) -> None:
    for flood, sent in ((False, 1), (False, 2), (True, 2), (False, 3)):
        reporter.add(done(keys[0]))
        reporter.step(flood=flood)
        assert len(threads.begun) == sent, flood
        if not threads.begun[-1].done():
            threads.finish(None)
        reporter.step(flood=True)


def test_nor_is_the_rest_after_a_failure_cut_short(
    reporter: Reporter[AttemptKey], threads: Threads, keys: list[AttemptKey]
) -> None:
    reporter.add(done(keys[0]))
    reporter.step(flood=False)
    threads.fail()
    reporter.step(flood=False)
    reporter.step(flood=False)

    assert len(threads.begun) == 1
    assert reporter.due_in() > 0


def test_a_report_that_failed_is_sent_again_with_those_that_came_meanwhile(
    reporter: Reporter[AttemptKey],
    threads: Threads,
    clock: FakeClock,
    reported: list[AttemptKey],
    keys: list[AttemptKey],
) -> None:
    reporter.add(done(keys[0]))
    reporter.step(flood=True)
    reporter.add(done(keys[1]))
    threads.fail()
    reporter.step(flood=True)
    assert len(threads.begun) == 1
    assert reported == []

    clock.advance(10)
    reporter.step(flood=True)
    threads.finish(None)
    reporter.step(flood=True)

    assert len(threads.begun) == 2
    assert reported == keys[:2]


def test_a_bug_is_not_swallowed(
    reporter: Reporter[AttemptKey], threads: Threads, keys: list[AttemptKey]
) -> None:
    reporter.add(done(keys[0]))
    reporter.step(flood=True)
    threads.fail(ValueError("bug"))

    with pytest.raises(ValueError, match="bug"):
        reporter.step(flood=True)
