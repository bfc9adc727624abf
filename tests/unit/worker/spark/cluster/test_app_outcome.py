"""What clusters tell of an application, and what a new attempt does about it."""

from dataclasses import replace

import pytest

from headway.db.execution.spark_work import PriorAttempt
from headway.domain.states import Outcome
from headway_worker.spark.cluster.app_outcome import (
    AppOutcome,
    PriorApp,
    Step,
    first_step,
    kubernetes_status,
    yarn_list,
    yarn_report,
)
from headway_worker.spark.service.prior_apps import prior_of

REPORT = """Application Report :
\tApplication-Id : application_1700000000000_0012
\tApplication-Name : flights
\tApplication-Type : SPARK
\tUser : headway
\tStart-Time : 1700000000001
\tProgress : {progress}
\tState : {state}
\tFinal-State : {final}
\tTracking-URL : http://rm:8088/proxy/application_1700000000000_0012/
\tDiagnostics : {why}
\tUnmanaged Application : false
"""


@pytest.mark.parametrize(
    ("state", "final", "expected"),
    [
        ("NEW", "UNDEFINED", AppOutcome.RUNNING),
        ("SUBMITTED", "UNDEFINED", AppOutcome.RUNNING),
        ("ACCEPTED", "UNDEFINED", AppOutcome.RUNNING),
        ("RUNNING", "UNDEFINED", AppOutcome.RUNNING),
        ("FINISHED", "SUCCEEDED", AppOutcome.SUCCEEDED),
        ("FINISHED", "FAILED", AppOutcome.FAILED),
        ("FINISHED", "KILLED", AppOutcome.FAILED),
        ("FAILED", "FAILED", AppOutcome.FAILED),
        ("KILLED", "KILLED", AppOutcome.FAILED),
    ],
)
def test_a_report_of_yarn(state: str, final: str, expected: AppOutcome) -> None:
    told = yarn_report(REPORT.format(state=state, final=final, progress="10%", why="because"))

    assert (told.outcome, told.why) == (expected, f"{state}, {final}. because")


def test_yarn_does_not_know_the_application() -> None:
    text = "26/11/21 WARN\nApplication with id 'application_1_2' doesn't exist in RM or Timeline."

    assert yarn_report(text).outcome is AppOutcome.ABSENT


@pytest.mark.parametrize("text", ["", "Connecting to ResourceManager at rm:8032\nrefused"])
def test_yarn_does_not_answer(text: str) -> None:
    assert yarn_report(text).outcome is AppOutcome.UNKNOWN


def test_a_list_of_yarn() -> None:
    head = "Total number of applications (application-types: [], states: [NEW] and tags: [t]):"
    row = "application_1700000000000_0012\tflights\tSPARK\theadway\tdefault\tRUNNING\tUNDEFINED"

    assert yarn_list(f"{head}1\n  Application-Id\tApplication-Name\n{row}\n") == (
        "application_1700000000000_0012",
    )
    assert yarn_list(f"{head}0\n") == ()
    assert yarn_list("Connection refused") is None


STATUS = """26/11/21 10:00:00 INFO K8sSubmitOps: Submitting a request for the status of x.
Application status (driver):
\t pod name: headway-1-1-ab-driver
\t namespace: default
\t phase: {phase}
\t container status:
\t\t container name: spark-kubernetes-driver
\t\t container state: terminated
\t\t exit code: {code}
\t\t termination reason: {reason}
"""


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        ("Pending", AppOutcome.RUNNING),
        ("Running", AppOutcome.RUNNING),
        ("Succeeded", AppOutcome.SUCCEEDED),
        ("Failed", AppOutcome.FAILED),
        ("Unknown", AppOutcome.UNKNOWN),
    ],
)
def test_the_phase_of_a_pod(phase: str, expected: AppOutcome) -> None:
    told = kubernetes_status(STATUS.format(phase=phase, code=137, reason="OOMKilled"))

    assert (told.outcome, told.why) == (expected, f"{phase}. 137 OOMKilled")


@pytest.mark.parametrize("text", ["Application not found.", "No applications found."])
def test_a_pod_that_is_not_there(text: str) -> None:
    assert kubernetes_status(f"INFO\n{text}\n").outcome is AppOutcome.ABSENT


def test_kubernetes_does_not_answer() -> None:
    assert kubernetes_status("java.net.ConnectException").outcome is AppOutcome.UNKNOWN


def attempt(
    number: int, outcome: str | None, *, is_called_off: bool = False, **handle: str
) -> PriorAttempt:
    return PriorAttempt(
        number,
        outcome,
        handle,
        is_called_off=is_called_off,
        is_long_ago=False,
        worker_is_dead=False,
    )


def test_the_last_attempt_in_cluster_mode_is_asked_about() -> None:
    first = attempt(1, "failed", mode="cluster", tag="a")
    second = attempt(2, "lost", mode="cluster", tag="b")
    third = attempt(3, "failed", kind="connect", session_id="c")

    assert prior_of([first, second, third]) == PriorApp(second.handle, Outcome.LOST)
    assert prior_of([third]) is None
    assert prior_of([]) is None


def test_a_success_has_settled_what_came_before() -> None:
    lost, success = attempt(1, "lost", mode="cluster"), attempt(2, "success", mode="cluster")

    assert prior_of([lost, success]) is None
    assert prior_of([success, attempt(3, None, mode="cluster")]) == PriorApp(
        {"mode": "cluster"}, None
    )


def test_what_was_seen_to_end_is_settled_but_for_what_it_may_have_done_by_a_time_out() -> None:
    lost = attempt(1, "lost", mode="cluster")
    late = attempt(1, "timed_out", mode="cluster", ended="yes")

    assert prior_of([lost, attempt(2, "cancelled", mode="cluster", ended="yes")]) is None
    assert prior_of([late]) == PriorApp(late.handle, Outcome.TIMED_OUT)
    assert prior_of([replace(late, is_called_off=True)]) is None


@pytest.mark.parametrize("outcome", [Outcome.TIMED_OUT, Outcome.CANCELLED])
def test_what_had_to_stop_had_to_whoever_minds_it_since(outcome: Outcome) -> None:
    minded = attempt(2, "lost", mode="cluster", stopped=str(outcome))
    ended = attempt(2, "lost", mode="cluster", stopped=str(outcome), ended="yes")
    first = attempt(1, str(outcome), mode="cluster")

    assert prior_of([first, minded]) == PriorApp(minded.handle, outcome)
    late = PriorApp(ended.handle, outcome) if outcome is Outcome.TIMED_OUT else None
    assert prior_of([first, ended]) == late


def test_a_submission_in_client_mode_has_asked_about_what_came_before() -> None:
    lost = attempt(1, "lost", kind="submit", mode="cluster", tag="a")
    near = attempt(2, "failed", kind="submit", tag="b")

    assert prior_of([lost, near]) is None
    assert prior_of([near, lost]) == PriorApp(lost.handle, Outcome.LOST)


@pytest.mark.parametrize("outcome", ["lost", "failed", "timed_out"])
def test_what_a_user_has_called_off_counts_as_cancelled_however_it_ended(outcome: str) -> None:
    """As when its worker dies before the kill is confirmed, or it failed and is cleared later."""
    handle = {"mode": "cluster", "submitted": "yes"}
    [one] = [attempt(1, outcome, is_called_off=True, **handle)]

    prior = prior_of([one])

    assert prior == PriorApp(handle, Outcome.CANCELLED)
    assert first_step(prior, AppOutcome.RUNNING) is Step.KILL
    assert first_step(prior, AppOutcome.SUCCEEDED) is Step.SUBMIT


LOST, FAILED, LATE, STOPPED = Outcome.LOST, Outcome.FAILED, Outcome.TIMED_OUT, Outcome.CANCELLED
ARRIVED, SAVED = {"submitted": "yes"}, {"tag": "t"}


@pytest.mark.parametrize(
    ("app_outcome", "outcome", "handle", "expected"),
    [
        # A worker died, or handed it back, or the task's process did not live to see the end.
        (AppOutcome.RUNNING, LOST, ARRIVED, Step.ATTACH),
        (AppOutcome.RUNNING, LOST, SAVED, Step.ATTACH),
        (AppOutcome.RUNNING, FAILED, ARRIVED, Step.ATTACH),
        (AppOutcome.SUCCEEDED, LOST, ARRIVED, Step.TAKE),
        (AppOutcome.SUCCEEDED, FAILED, ARRIVED, Step.TAKE),
        (AppOutcome.FAILED, LOST, ARRIVED, Step.SUBMIT),
        (AppOutcome.FAILED, FAILED, ARRIVED, Step.SUBMIT),
        # Between the save of the handle and the answer of the cluster nothing may have arrived.
        (AppOutcome.ABSENT, LOST, SAVED, Step.SUBMIT),
        (AppOutcome.ABSENT, FAILED, SAVED, Step.SUBMIT),
        (AppOutcome.ABSENT, LOST, ARRIVED, Step.REFUSE),
        (AppOutcome.ABSENT, FAILED, {"application_id": "application_1_2"}, Step.REFUSE),
        # It had to stop.
        (AppOutcome.RUNNING, LATE, ARRIVED, Step.KILL),
        (AppOutcome.RUNNING, STOPPED, ARRIVED, Step.KILL),
        (AppOutcome.SUCCEEDED, LATE, ARRIVED, Step.TAKE),
        (AppOutcome.SUCCEEDED, STOPPED, ARRIVED, Step.SUBMIT),
        (AppOutcome.FAILED, STOPPED, ARRIVED, Step.SUBMIT),
        (AppOutcome.ABSENT, LATE, ARRIVED, Step.SUBMIT),
        (AppOutcome.ABSENT, STOPPED, ARRIVED, Step.SUBMIT),
        # Whoever does not know does nothing.
        (AppOutcome.UNKNOWN, LOST, ARRIVED, None),
        (AppOutcome.UNKNOWN, STOPPED, SAVED, None),
    ],
)
def test_what_a_new_attempt_does_first(
    app_outcome: AppOutcome, outcome: Outcome, handle: dict[str, str], expected: Step | None
) -> None:
    assert first_step(PriorApp(handle, outcome), app_outcome) == expected
