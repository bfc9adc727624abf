from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution.attempts import Claimed
from headway.domain.dag.retry import MOST_LOSSES, Next
from headway.domain.dag.spec import TaskSpec
from headway.domain.states import OnLost, Outcome, TaskState
from headway.runtime.forker import Exit
from headway.runtime.masking import Masker
from headway.runtime.processes.frames import FrameReader, encode_frame
from headway.sdk.harness.execution import Result
from headway.testing.data import claims
from headway_worker.protocol.result_codec import result_from_frame, result_to_frame
from headway_worker.supervision.outcome import (
    LONGEST_ERROR,
    ProcessEnd,
    conclude,
    masked,
    report_of,
)

TASK = TaskSpec(task_id="t", operator="python", retries=1, retry_delay=10.0, execution_timeout=1.5)
SAID = Result(outcome=Outcome.SUCCESS)


def claimed(failures: int = 0, losses: int = 0) -> Claimed:
    return claims.claimed(key=AttemptKey(7, 1, UUID(int=1)), failures=failures, losses=losses)


@pytest.mark.parametrize(
    ("ending", "outcome", "error"),
    [
        (ProcessEnd(exit=Exit(code=0), said=SAID), Outcome.SUCCESS, None),
        (
            ProcessEnd(exit=Exit(code=0)),
            Outcome.FAILED,
            "The task's process ended with exit code 0 before the task was done",
        ),
        (ProcessEnd(exit=Exit(code=3)), Outcome.FAILED, "ended with exit code 3 before"),
        (ProcessEnd(exit=Exit(signal=11)), Outcome.FAILED, "was killed by SIGSEGV."),
        (
            ProcessEnd(exit=Exit(signal=9)),
            Outcome.FAILED,
            "by SIGKILL; it may have run out of memory",
        ),
        (
            ProcessEnd(exit=Exit(signal=9, oom_kills=0)),
            Outcome.FAILED,
            "by SIGKILL. The kernel has killed nothing here for want of memory",
        ),
        (
            ProcessEnd(exit=Exit(signal=9, oom_kills=2)),
            Outcome.FAILED,
            "by SIGKILL: memory ran out, and the kernel killed 2 of the processes here",
        ),
        (
            ProcessEnd(exit=Exit(exceeded="5 bytes of memory")),
            Outcome.FAILED,
            "The task had more than 5 bytes of memory, and was killed with all that it had started",
        ),
        (
            ProcessEnd(exit=Exit(signal=9), stopped_for="It has closed its channel."),
            Outcome.FAILED,
            "It has closed its channel.",
        ),
        (ProcessEnd(exit=Exit(signal=63)), Outcome.FAILED, "was killed by signal 63."),
        (ProcessEnd(exit=Exit(lost="no news")), Outcome.LOST, "Its process was lost: no news"),
        (ProcessEnd(exit=Exit(signal=15), handed_back=True), Outcome.LOST, "handed it back"),
        (ProcessEnd(exit=Exit(signal=15), cancelled=True), Outcome.CANCELLED, "was told to stop"),
        (ProcessEnd(exit=Exit(lost="no news"), cancelled=True), Outcome.CANCELLED, "told to stop"),
        (
            ProcessEnd(exit=Exit(signal=15), timed_out=True),
            Outcome.TIMED_OUT,
            "The task ran longer than its execution_timeout of 1.5 s, and was stopped.",
        ),
    ],
)
def test_how_an_attempt_ends(ending: ProcessEnd, outcome: Outcome, error: str | None) -> None:
    result = conclude(ending, TASK)

    assert result.outcome is outcome
    assert (error in result.error) if error and result.error else result.error is error


def test_a_childs_last_word_counts_however_its_process_ends() -> None:
    for ended in (Exit(code=1), Exit(signal=9), Exit(lost="no news")):
        assert conclude(ProcessEnd(exit=ended, said=SAID), TASK) is SAID


def test_a_task_that_finished_while_it_was_handed_back_has_finished() -> None:
    assert conclude(ProcessEnd(exit=Exit(code=0), said=SAID, handed_back=True), TASK) is SAID


def test_one_that_was_told_to_stop_and_fails_by_it_was_cancelled() -> None:
    failed = Result(outcome=Outcome.FAILED, error="KeyboardInterrupt")
    told = ProcessEnd(exit=Exit(code=0), said=failed, cancelled=True, handed_back=True)

    assert conclude(told, TASK).outcome is Outcome.CANCELLED


def test_one_that_fails_because_its_worker_ends_was_handed_back() -> None:
    failed = Result(outcome=Outcome.FAILED, error="KeyboardInterrupt")

    told = conclude(ProcessEnd(exit=Exit(code=0), said=failed, handed_back=True), TASK)

    assert (told.outcome, told.may_retry) == (Outcome.LOST, True)


def test_one_that_was_told_to_stop_and_finished_has_finished() -> None:
    """What becomes of its task is not for the worker to say."""
    assert conclude(ProcessEnd(exit=Exit(code=0), said=SAID, cancelled=True), TASK) is SAID


def test_a_task_that_ran_too_long_has_failed_whatever_it_says() -> None:
    ending = ProcessEnd(exit=Exit(code=0), said=SAID, timed_out=True, handed_back=True)

    assert conclude(ending, TASK).outcome is Outcome.TIMED_OUT


@pytest.mark.parametrize(
    ("outcome", "failures", "losses", "following"),
    [
        (Outcome.SUCCESS, 5, 5, Next(TaskState.SUCCESS)),
        (Outcome.SKIPPED, 0, 0, Next(TaskState.SKIPPED)),
        (Outcome.FAILED, 0, 0, Next(TaskState.UP_FOR_RETRY, timedelta(seconds=10))),
        (Outcome.FAILED, 1, 0, Next(TaskState.FAILED)),
        (Outcome.TIMED_OUT, 0, 9, Next(TaskState.UP_FOR_RETRY, timedelta(seconds=10))),
        (Outcome.LOST, 5, 0, Next(TaskState.UP_FOR_RETRY, timedelta(0))),
        (Outcome.LOST, 0, MOST_LOSSES, Next(TaskState.FAILED)),
    ],
)
def test_what_follows_counts_this_attempt_too(
    outcome: Outcome, failures: int, losses: int, following: Next
) -> None:
    report = report_of(claimed(failures, losses), TASK, Result(outcome=outcome))

    assert (report.key, report.outcome, report.following) == (claimed().key, outcome, following)


@pytest.mark.parametrize(
    ("began", "following"),
    [(True, Next(TaskState.FAILED)), (False, Next(TaskState.UP_FOR_RETRY, timedelta(0)))],
)
def test_a_task_that_must_not_run_twice_fails_when_it_is_lost_after_it_began(
    began: bool, following: Next
) -> None:
    once = replace(TASK, on_lost=OnLost.FAIL)
    lost = Result(outcome=Outcome.LOST)

    assert report_of(claimed(), once, lost, began=began).following == following


def test_a_task_that_must_not_be_tried_again_is_not() -> None:
    result = Result(outcome=Outcome.FAILED, may_retry=False)

    assert report_of(claimed(), TASK, result).following == Next(TaskState.FAILED)


def test_a_delay_that_its_retry_policy_says_holds() -> None:
    result = Result(outcome=Outcome.FAILED, retry_delay=2.5)
    following = report_of(claimed(), TASK, result).following

    assert following == Next(TaskState.UP_FOR_RETRY, timedelta(seconds=2.5))


def test_a_pause_comes_before_who_takes_up_what_was_left_whatever_its_task_says() -> None:
    once = replace(TASK, on_lost=OnLost.FAIL)
    report = report_of(claimed(losses=3), once, Result(outcome=Outcome.LOST), left="application a")

    assert report.following == Next(TaskState.UP_FOR_RETRY, timedelta(seconds=4))
    assert report.left == "application a"


@pytest.mark.parametrize(
    ("error", "stored"),
    [
        (None, None),
        ("", ""),
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
        ("a\ud800b", "a?b"),
        ("x" * LONGEST_ERROR, "x" * LONGEST_ERROR),
        ("x" * LONGEST_ERROR + "y", "x" * LONGEST_ERROR + " …"),
    ],
)
def test_an_error_is_stored_in_a_form_that_postgres_takes(
    error: str | None, stored: str | None
) -> None:
    assert report_of(claimed(), TASK, Result(outcome=Outcome.FAILED, error=error)).error == stored


def test_a_report_says_what_a_branch_decided_against() -> None:
    result = Result(outcome=Outcome.SUCCESS, skip_tasks=("a", "b"))

    assert report_of(claimed(), TASK, result).skips == ("a", "b")


@pytest.mark.parametrize(
    "result",
    [
        SAID,
        Result(outcome=Outcome.SKIPPED, error="no data"),
        Result(outcome=Outcome.FAILED, error="ä\0", traceback="Traceback …", may_retry=False),
        Result(outcome=Outcome.FAILED, retry_delay=2.5),
        Result(outcome=Outcome.SUCCESS, skip_tasks=("a", "b")),
    ],
)
def test_a_result_travels_in_a_frame(result: Result) -> None:
    assert result_from_frame(*FrameReader().feed(encode_frame(result_to_frame(result)))) == result


@pytest.mark.parametrize("outcome", [Outcome.LOST, Outcome.CANCELLED, Outcome.TIMED_OUT, "won"])
def test_a_task_cannot_say_what_only_its_worker_can_know(outcome: str) -> None:
    with pytest.raises(ValueError, match=r"cannot end as|is not a valid Outcome"):
        result_from_frame({**result_to_frame(SAID), "outcome": outcome})


@pytest.mark.parametrize("skips", ["abc", None, {"a": 1}, [1], ["a\0"], ["a", None]])
def test_only_task_ids_are_skipped(skips: object) -> None:
    with pytest.raises(TypeError, match="skip_tasks is no list of task ids"):
        result_from_frame({**result_to_frame(SAID), "skip_tasks": skips})


@pytest.mark.parametrize(
    "missing", ["outcome", "error", "traceback", "may_retry", "retry_delay", "skip_tasks"]
)
def test_a_result_is_whole(missing: str) -> None:
    frame = result_to_frame(SAID)
    del frame[missing]

    with pytest.raises(KeyError, match=missing):
        result_from_frame(frame)


def test_an_error_is_kept_without_the_attempt_s_secrets() -> None:
    masker = Masker()
    masker.prepare("hunter2")
    result = Result(
        outcome=Outcome.FAILED,
        error="ValueError: the password is hunter2",
        traceback="db.connect('hunter2')",
        skip_tasks=("a",),
    )

    assert masked(result, masker) == Result(
        outcome=Outcome.FAILED,
        error="ValueError: the password is ***",
        traceback="db.connect('***')",
        skip_tasks=("a",),
    )
    assert masked(Result(outcome=Outcome.SUCCESS), masker) == Result(outcome=Outcome.SUCCESS)
