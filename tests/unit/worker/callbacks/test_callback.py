"""The callbacks that a worker runs: for how long, what is said of them, and when they end."""

from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pytest

from headway.db.execution.callback_claims import CallbackKey, CallbackReport
from headway.domain.errors import SerializationError
from headway.domain.states import CallbackState, Outcome
from headway.runtime.forker import Exit
from headway.sdk.harness.execution import Result
from headway_worker.logs.file import LogFile

DONE, FAILED = CallbackState.SUCCESS, CallbackState.FAILED


def report(number: int, state: CallbackState, error: str | None = None) -> CallbackReport:
    return CallbackReport(CallbackKey(number, UUID(int=number)), state, error)


def test_so_many_run_at_a_time_and_the_next_one_when_one_has_ended(town: Any) -> None:
    town.begun(1, 2)
    town.queue(3)
    town.steps(20)
    assert town.children.keys() == {1, 2}

    town.end(1, Result(outcome=Outcome.SUCCESS))
    town.until(lambda: 3 in town.children)
    town.until(lambda: town.desk.told)

    assert town.desk.told == [report(1, DONE)]
    assert max(town.desk.asked) <= town.settings.callback_slots


def test_what_its_functions_say_is_reported(town: Any) -> None:
    town.begun(1, 2)

    town.end(1, Result(outcome=Outcome.FAILED, error="tell: no luck"))
    town.end(2, None, Exit(signal=11))
    town.until(lambda: len(town.desk.told) == 2)

    assert sorted(town.desk.told, key=lambda it: it.key.id) == [
        report(1, FAILED, "tell: no luck"),
        report(2, FAILED, "The callback's process was killed by SIGSEGV."),
    ]
    assert '"message":"failed: tell: no luck"' in (town.folder / "1.log").read_text()
    town.until(lambda: town.supervisor.at_rest)


def test_its_log_is_looked_after_while_it_runs(town: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may be the beginning of a secret is written when nothing follows it."""
    ticked = Mock()
    monkeypatch.setattr(LogFile, "tick", ticked)
    town.begun(1)
    town.steps(3)

    assert ticked.call_count >= 3


def test_a_callback_that_is_handed_back_says_so_in_its_log(town: Any) -> None:
    town.begun(1)
    town.supervisor.hand_back()
    town.end(1, None, Exit(signal=15))
    town.until(lambda: town.supervisor.at_rest, seconds=1, draining=True)

    assert (
        "The worker is stopping; the callback is handed back."
        in (town.folder / "1.log").read_text()
    )


def test_a_secret_that_a_callback_was_given_is_masked_in_its_error(town: Any) -> None:
    town.begun(1)
    [held] = town.supervisor.held.values()
    held.execution.mask({"canary-8f1e"})
    town.end(1, Result(outcome=Outcome.FAILED, error="refused: canary-8f1e"))
    town.until(lambda: town.desk.told)

    assert town.desk.told == [report(1, FAILED, "refused: ***")]


def test_one_that_takes_too_long_is_stopped_and_not_begun_again(town: Any) -> None:
    town.begun(1)
    town.until(lambda: town.children[1].orders, seconds=1)
    assert town.children[1].orders == ["stop"]
    assert town.clock.monotonic() >= town.settings.callback_timeout

    town.end(1, Result(outcome=Outcome.SUCCESS))
    town.until(lambda: town.desk.told)

    [told] = town.desk.told
    assert (told.state, told.error) == (
        FAILED,
        "It ran longer than the callback_timeout of 60 s, and was stopped.",
    )


def test_one_whose_claim_cannot_be_renewed_is_killed_and_not_reported(town: Any) -> None:
    town.begun(1, 2)
    town.desk.lost.add(CallbackKey(1, UUID(int=1)))

    town.until(lambda: town.children[1].orders, seconds=1)
    town.end(1, Result(outcome=Outcome.SUCCESS))
    town.end(2, Result(outcome=Outcome.SUCCESS))
    town.until(lambda: town.supervisor.at_rest)

    assert town.children[1].orders == ["kill"]
    assert town.desk.told == [report(2, DONE)]


def test_its_nanny_is_told_until_when_it_may_live_and_again_with_each_renewal(town: Any) -> None:
    held = town.settings.lease_duration - town.settings.kill_grace
    town.begun(1)
    first = town.children[1].until
    assert town.clock.monotonic() < first <= town.clock.monotonic() + held

    town.steps(10)

    moved = town.children[1].until
    assert first < moved <= town.clock.monotonic() + held
    assert moved == town.kind.leases.until(CallbackKey(1, UUID(int=1)))


def test_a_report_that_is_not_taken_yet_keeps_its_claim(town: Any) -> None:
    town.desk.away = True
    town.begun(1)
    town.end(1, Result(outcome=Outcome.SUCCESS))
    town.steps(2)
    renewals = len(town.desk.renewed)

    town.steps(60)
    assert len(town.desk.renewed) > renewals + 20
    assert not town.supervisor.at_rest
    town.desk.away = False
    town.until(lambda: town.supervisor.at_rest, seconds=1)

    assert town.desk.told == [report(1, DONE)]


def test_one_whose_order_cannot_be_sent_has_failed(town: Any) -> None:
    town.refusal = SerializationError("This cannot be sent as a frame: it is too large.")
    town.queue(1)
    town.until(lambda: town.desk.told)

    [told] = town.desk.told
    assert (told.state, told.error) == (FAILED, f"It could not be begun: {town.refusal}")
