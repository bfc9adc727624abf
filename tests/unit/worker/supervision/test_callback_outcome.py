"""How a callback ends, and when it is begun again."""

from uuid import UUID

import pytest

from headway.db.execution.callback_claims import CallbackKey, CallbackReport
from headway.domain.states import CallbackState, Outcome
from headway.runtime.forker import Exit
from headway.sdk.harness.execution import Result
from headway_worker.callbacks.outcome import conclude
from headway_worker.supervision.outcome import LONGEST_ERROR, ProcessEnd

KEY = CallbackKey(7, UUID(int=1))
WELL = Result(outcome=Outcome.SUCCESS)
BADLY = Result(outcome=Outcome.FAILED, error="tell: no\0 luck")


def report(state: CallbackState, error: str | None = None) -> CallbackReport:
    return CallbackReport(KEY, state, error)


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (ProcessEnd(exit=Exit(code=0), said=WELL), report(CallbackState.SUCCESS)),
        (ProcessEnd(exit=Exit(signal=9), said=WELL), report(CallbackState.SUCCESS)),
        (
            ProcessEnd(exit=Exit(code=0), said=WELL, handed_back=True),
            report(CallbackState.SUCCESS),
        ),
        (
            ProcessEnd(exit=Exit(code=0), said=BADLY),
            report(CallbackState.FAILED, "tell: no\N{REPLACEMENT CHARACTER} luck"),
        ),
        (
            ProcessEnd(exit=Exit(code=0), said=WELL, timed_out=True, handed_back=True),
            report(
                CallbackState.FAILED,
                "It ran longer than the callback_timeout of 60 s, and was stopped.",
            ),
        ),
        (
            ProcessEnd(exit=Exit(signal=11)),
            report(CallbackState.FAILED, "The callback's process was killed by SIGSEGV."),
        ),
        (ProcessEnd(exit=Exit(signal=15), handed_back=True), report(CallbackState.QUEUED)),
        (ProcessEnd(exit=Exit(lost="no news"), handed_back=True), report(CallbackState.QUEUED)),
        (ProcessEnd(exit=Exit(lost="no news")), None),
    ],
)
def test_it_is_begun_again_only_when_its_process_was_lost_or_handed_back(
    ending: ProcessEnd, expected: CallbackReport | None
) -> None:
    assert conclude(KEY, ending, 60.0) == expected


def test_a_long_error_is_cut() -> None:
    said = Result(outcome=Outcome.FAILED, error="x" * (LONGEST_ERROR + 1))
    told = conclude(KEY, ProcessEnd(exit=Exit(code=0), said=said), 60.0)

    assert told is not None
    assert told.error == "x" * LONGEST_ERROR + " …"
