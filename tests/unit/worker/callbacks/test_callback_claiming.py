"""When a worker claims callbacks, and when it hands them back."""

from typing import Any
from uuid import UUID

from headway.db.execution.callback_claims import CallbackKey, CallbackReport
from headway.domain.states import CallbackState
from headway.runtime.forker import Exit, ForkerError

BACK = CallbackState.QUEUED


def handed_back(number: int) -> CallbackReport:
    return CallbackReport(CallbackKey(number, UUID(int=number)), BACK)


def test_it_has_nothing_to_do_while_it_looks_for_work_in_vain(town: Any) -> None:
    assert town.supervisor.busy  # it has not looked yet
    town.until(lambda: not town.supervisor.busy)
    town.until(lambda: town.supervisor._claims.pending)
    assert not town.supervisor.busy
    assert not town.supervisor.at_rest

    town.begun(1)
    assert town.supervisor.busy


def test_a_worker_that_stops_claims_no_more_and_hands_back_what_runs(town: Any) -> None:
    town.begun(1)
    town.until(lambda: not town.supervisor._claims.pending, draining=True)
    town.queue(2)

    town.supervisor.hand_back()
    town.supervisor.hand_back()
    assert town.children[1].orders == ["stop"]
    town.end(1, None, Exit(signal=15))
    town.until(lambda: town.supervisor.at_rest, seconds=1, draining=True)

    assert town.desk.told == [handed_back(1)]
    assert town.children.keys() == {1}


def test_one_that_cannot_be_started_is_handed_back_and_no_try_is_lost(town: Any) -> None:
    town.refusal = ForkerError("no more processes")
    town.queue(1)
    town.until(lambda: town.desk.told, seconds=0.01)
    assert town.desk.told == [handed_back(1)]
    town.until(lambda: town.supervisor.at_rest)

    town.refusal = None
    town.begun(1)

    assert town.children.keys() == {1}


def test_while_none_can_be_started_they_are_claimed_ever_more_seldom(town: Any) -> None:
    """Neither a notice nor a batch that was full makes a difference."""
    town.refusal = OSError("no space left")
    town.desk.returns = True
    town.queue(1, 2)
    for _ in range(600):
        town.supervisor.claim_soon()
        town.steps(1, seconds=0.1)

    assert 8 <= len(town.desk.asked) <= 20
    assert {report.state for report in town.desk.told} == {BACK}


def test_none_is_claimed_while_there_is_no_fork_server(town: Any) -> None:
    town.is_ready = False
    town.queue(1)
    town.steps(100)
    assert (town.desk.asked, town.desk.looks) == ([], 0)

    town.is_ready = True
    town.until(lambda: 1 in town.children)


def test_one_that_took_too_long_to_prepare_is_handed_back(town: Any) -> None:
    town.queue(1)
    town.desk.takes = lambda: town.clock.advance(town.settings.lease_duration)
    town.until(lambda: town.desk.told)

    assert (town.desk.told, town.children) == ([handed_back(1)], {})


def test_while_there_is_nothing_the_database_is_asked_ever_less_often(town: Any) -> None:
    town.steps(5)
    looks = town.desk.looks

    town.steps(300, seconds=0.1)

    assert 25 <= town.desk.looks - looks <= 31
    assert (town.desk.asked, town.desk.renewals) == ([], 0)
