"""In which order a worker does what it does at a step."""

from threading import Event
from typing import Any
from unittest.mock import MagicMock

import pytest

from headway.runtime.loop import Pace
from headway.runtime.settings import WorkerSettings
from headway.testing.clock import FakeClock
from headway_worker.claims import Claims
from headway_worker.clerk import Clerk
from headway_worker.questions import Questions
from headway_worker.reporter import Reporter
from headway_worker.vault import Vault
from headway_worker.worker import Means, Worker


@pytest.mark.parametrize("flood", [True, False])
def test_before_it_waits_it_sends_the_reports_that_what_it_has_found_calls_for(
    clerk: Clerk,
    vault: Vault,
    worker_settings: WorkerSettings,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    flood: bool,
) -> None:
    """A look in vain may end a flood; the reports that it is about must not wait any longer."""
    done: list[object] = []

    def collect(claims: Claims[Any]) -> list[Any]:
        if claims.clerk is clerk:
            done.append("collect")
        return []

    def report(reporter: Reporter[Any], *, flood: bool) -> None:
        if reporter.clerk is clerk:
            done.append({"flood": flood})

    def wait(_worker: Worker) -> None:
        done.append("wait")

    monkeypatch.setattr(Claims, "collect", collect)
    monkeypatch.setattr(Claims, "is_flood", lambda _claims, running: flood and running == 0)
    monkeypatch.setattr(Reporter, "step", report)
    monkeypatch.setattr(Worker, "_watch", wait)
    outside = MagicMock()
    questions = Questions(clerk, vault, outside, clock, Event())
    worker = Worker(Means(clerk, questions, outside, outside, Pace()), worker_settings, clock)
    monkeypatch.setattr(Clerk, "renew", MagicMock())

    worker.step()
    worker.close()

    assert done == ["collect", {"flood": flood}, "wait"]
