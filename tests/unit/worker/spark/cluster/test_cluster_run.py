"""An application in cluster mode, on a cluster that is written down: outcome by outcome."""

import io
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest

from headway.domain.spark_work import Handle
from headway.domain.states import Outcome
from headway.sdk.exceptions import AirflowFailException
from headway.sdk.running.task_runtime import SparkApplication
from headway.testing.processes.finalized import Finalized
from headway.testing.time.clock import FakeClock
from headway_worker.spark.cluster.app_outcome import AppOutcome, AppReport, PriorApp
from headway_worker.spark.cluster.cluster_run import RemoteRun, ToldToStop
from headway_worker.spark.cluster.submission import Submission, SubmitSettings, Submitted
from headway_worker.spark.target.connection import SparkConnection, SparkKind
from headway_worker.spark.target.errors import SparkError

APPLICATION = SparkApplication(application="job.py", deploy_mode="cluster")
NEAR = SparkApplication(application="job.py")
PRIOR: Handle = {
    "kind": "submit",
    "mode": "cluster",
    "tag": "headway-1-1-old",
    "master": "yarn",
    "application_id": "application_1_1",
}
ENDED = {**PRIOR, "ended": "yes"}
Answer = AppOutcome | Callable[[], AppOutcome]


@dataclass
class FakeCluster:
    """Tells one outcome after the other; the last one stays.  Killing moves on to `after_kill`."""

    outcomes: list[Answer]
    after_kill: AppOutcome = AppOutcome.FAILED
    asked: list[Handle] = field(default_factory=list)
    killed: list[Handle] = field(default_factory=list)

    def check(self) -> None:
        pass

    def ask(self, handle: Handle) -> AppReport:
        self.asked.append(handle)
        answer = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        return AppReport(answer() if callable(answer) else answer, "so it says")

    def kill(self, handle: Handle) -> None:
        self.killed.append(handle)
        self.outcomes = [self.after_kill]


@dataclass(frozen=True)
class FakeSubmission(Submission):
    """Does not run spark-submit, but says how it ended."""

    code: int = 0
    submitted: list[Handle] = field(default_factory=list)
    before_end: Callable[[], None] = lambda: None

    def submit(self, application: SparkApplication, handle: Handle) -> Submitted:
        self.on_handle(handle)
        self.submitted.append(handle)
        self.before_end()
        if self.code == 0:
            handle = {**handle, "application_id": "application_1_2"}
            self.on_handle(handle)
        return Submitted(self.code, ("it broke",), handle)


@dataclass
class Scene:
    outcomes: list[Answer]
    prior: PriorApp | None = None
    code: int = 0
    before_end: Callable[[], None] = lambda: None
    application: SparkApplication = APPLICATION
    handles: list[Handle] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    clock: FakeClock = field(default_factory=FakeClock)
    called_off: bool = False

    def __post_init__(self) -> None:
        connection = SparkConnection(kind=SparkKind.CLUSTER, master="yarn")
        self.cluster = FakeCluster(self.outcomes)
        self.submission = FakeSubmission(
            SubmitSettings(
                java_home=Path("/java"),
                scratch=Path("/scratch"),
                environment={},
                connection=connection,
                master="yarn",
            ),
            "1-2",
            self.handles.append,
            io.BytesIO(),
            code=self.code,
            before_end=self._before_end,
        )

    def _before_end(self) -> None:
        self.before_end()

    def run(self, prior: Callable[[], PriorApp | None] | None = None) -> "Scene":
        RemoteRun(
            submission=self.submission,
            cluster=self.cluster,
            prior=prior or (lambda: self.prior),
            say=self.said.append,
            clock=self.clock,
            called_off=self.called_off,
            patience=100.0,
        ).run(self.application)
        return self


def prior_app(outcome: Outcome = Outcome.LOST, **more: str) -> PriorApp:
    return PriorApp({**PRIOR, **more}, outcome)


def interrupted() -> AppOutcome:
    raise ToldToStop


def test_a_handle_is_saved_before_and_after_the_submission() -> None:
    scene = Scene([AppOutcome.RUNNING, AppOutcome.RUNNING, AppOutcome.SUCCEEDED]).run()

    before, known, after = scene.handles
    assert (before["mode"], before["master"]) == ("cluster", "yarn")
    assert before["tag"].startswith("headway-1-2-")
    assert known == {**before, "application_id": "application_1_2"}
    assert after == {**known, "submitted": "yes"}
    assert scene.cluster.asked == [after] * 3
    assert scene.clock.monotonic() == 2 * APPLICATION.status_poll_interval


@pytest.mark.parametrize(
    ("app_outcome", "message"),
    [(AppOutcome.FAILED, "has failed: so it says"), (AppOutcome.ABSENT, "is gone")],
)
def test_an_application_that_does_not_succeed_fails_the_attempt(
    app_outcome: AppOutcome, message: str
) -> None:
    with pytest.raises(SparkError, match=f"application application_1_2 {message}"):
        Scene([AppOutcome.RUNNING, app_outcome]).run()


def test_a_cluster_that_is_silent_for_a_while_is_asked_again() -> None:
    scene = Scene(
        [
            AppOutcome.UNKNOWN,
            AppOutcome.UNKNOWN,
            AppOutcome.RUNNING,
            AppOutcome.UNKNOWN,
            AppOutcome.SUCCEEDED,
        ]
    ).run()

    assert len(scene.submission.submitted) == 1
    assert sum("does not answer" in line for line in scene.said) == 3


def test_a_cluster_that_stays_silent_fails_the_attempt_and_kills_nothing() -> None:
    scene = Scene([AppOutcome.RUNNING, AppOutcome.UNKNOWN])

    with pytest.raises(SparkError, match="the next attempt asks again"):
        scene.run()
    assert scene.cluster.killed == []


def test_spark_submit_fails_and_nothing_has_arrived() -> None:
    with pytest.raises(SparkError, match=r"spark-submit of job\.py exited with 1") as caught:
        Scene([AppOutcome.ABSENT], code=1).run()

    assert "  it broke" in str(caught.value)


def test_spark_submit_fails_after_the_application_has_arrived() -> None:
    scene = Scene([AppOutcome.RUNNING, AppOutcome.RUNNING, AppOutcome.SUCCEEDED], code=1).run()

    assert len(scene.submission.submitted) == 1


def test_a_running_application_of_an_earlier_attempt_is_waited_for() -> None:
    scene = Scene([AppOutcome.RUNNING, AppOutcome.RUNNING, AppOutcome.SUCCEEDED], prior_app()).run()

    assert scene.submission.submitted == []
    assert scene.handles == [PRIOR]
    assert scene.cluster.asked == [PRIOR] * 3


def test_a_success_of_an_earlier_attempts_application_is_taken() -> None:
    scene = Scene([AppOutcome.SUCCEEDED], prior_app()).run()

    assert (scene.submission.submitted, scene.cluster.killed) == ([], [])
    assert scene.handles == [PRIOR]  # so that a success of this attempt settles it


def test_a_failure_of_an_earlier_attempts_application_is_followed_by_another_one() -> None:
    scene = Scene([AppOutcome.FAILED, AppOutcome.SUCCEEDED], prior_app()).run()

    assert len(scene.submission.submitted) == 1


def test_an_application_that_never_arrived_is_submitted() -> None:
    handle = {name: value for name, value in PRIOR.items() if name != "application_id"}
    scene = Scene([AppOutcome.ABSENT, AppOutcome.SUCCEEDED], PriorApp(handle, Outcome.LOST)).run()

    assert len(scene.submission.submitted) == 1


def test_an_application_that_vanished_is_refused_and_only_once() -> None:
    scene = Scene([AppOutcome.ABSENT], prior_app())

    with pytest.raises(AirflowFailException, match="clear the task to submit it again"):
        scene.run()
    assert scene.submission.submitted == []
    assert scene.handles == [PRIOR, {**PRIOR, "refused": "yes"}]

    cleared = Scene([AppOutcome.SUCCEEDED], PriorApp(scene.handles[-1], Outcome.FAILED)).run()
    assert len(cleared.submission.submitted) == 1


def test_nothing_is_submitted_while_nobody_tells_what_became_of_the_last_one() -> None:
    scene = Scene([AppOutcome.UNKNOWN], prior_app())

    with pytest.raises(SparkError, match="so nothing is submitted now"):
        scene.run()
    assert (scene.submission.submitted, scene.handles) == ([], [PRIOR])


@pytest.mark.parametrize("outcome", [Outcome.TIMED_OUT, Outcome.CANCELLED])
def test_one_that_had_to_stop_is_killed_before_the_next_is_submitted(outcome: Outcome) -> None:
    scene = Scene([AppOutcome.RUNNING], prior_app(outcome))

    def succeed() -> None:
        scene.cluster.outcomes = [AppOutcome.SUCCEEDED]

    scene.before_end = succeed
    scene.run()

    assert scene.cluster.killed == [PRIOR]
    assert len(scene.submission.submitted) == 1


def test_a_stop_kills_the_application_and_waits_until_it_has_ended() -> None:
    scene = Scene([AppOutcome.RUNNING, interrupted])
    scene.cluster.after_kill = AppOutcome.RUNNING
    kills: list[int] = []

    def kill(handle: Handle) -> None:
        kills.append(len(kills))
        scene.cluster.outcomes = [AppOutcome.FAILED if len(kills) == 4 else AppOutcome.RUNNING]

    scene.cluster.kill = kill  # type: ignore[method-assign]

    with pytest.raises(SparkError, match="has ended"):
        scene.run()
    assert len(kills) == 4
    assert scene.handles[-1]["ended"] == "yes"
    assert scene.clock.monotonic() == APPLICATION.status_poll_interval + 3


def test_a_stop_while_spark_submit_runs_kills_what_may_have_arrived() -> None:
    scene = Scene([AppOutcome.RUNNING])

    def stop() -> None:
        raise ToldToStop

    scene.before_end = stop

    with pytest.raises(SparkError, match="told to stop"):
        scene.run()
    assert scene.cluster.killed == scene.submission.submitted


def test_a_stop_while_asking_about_an_earlier_attempt_ends_that_ones_application() -> None:
    scene = Scene([interrupted], prior_app())

    with pytest.raises(SparkError, match="told to stop"):
        scene.run()
    assert (scene.cluster.killed, scene.submission.submitted) == ([PRIOR], [])


@pytest.mark.parametrize("outcome", [Outcome.LOST, Outcome.FAILED, None])
def test_what_an_earlier_attempt_has_left_is_this_ones_before_anything_is_asked(
    outcome: Outcome | None,
) -> None:
    """So whatever ends this attempt is known of that application, too."""
    scene = Scene([interrupted], PriorApp(PRIOR, outcome))

    with pytest.raises(SparkError, match="told to stop"):
        scene.run()
    assert scene.handles == [PRIOR, ENDED]


@pytest.mark.parametrize("outcome", [Outcome.TIMED_OUT, Outcome.CANCELLED])
def test_what_had_to_stop_stays_the_earlier_attempts(outcome: Outcome) -> None:
    scene = Scene([interrupted], PriorApp(PRIOR, outcome))

    with pytest.raises(SparkError, match="told to stop"):
        scene.run()
    stopped = {**PRIOR, "stopped": str(outcome)}
    assert scene.handles == [stopped, {**stopped, "ended": "yes"}]


def test_a_stop_that_comes_with_the_answer_ends_the_earlier_attempts_application() -> None:
    """SIGTERM while the worker looks for what was left; it must not get lost, nor the answer."""
    scene = Scene([AppOutcome.RUNNING])

    def answer() -> PriorApp:
        signal.raise_signal(signal.SIGTERM)
        return prior_app()

    with pytest.raises(SparkError, match="told to stop"):
        scene.run(answer)
    assert (scene.cluster.killed, scene.submission.submitted) == ([PRIOR], [])
    assert scene.handles == [PRIOR, ENDED]


def test_a_stop_that_comes_while_an_object_is_finalized_is_heard() -> None:
    def asked() -> AppOutcome:
        Finalized(lambda: signal.raise_signal(signal.SIGTERM))
        Event().wait(300)
        return AppOutcome.FAILED

    with pytest.raises(SparkError, match="told to stop"):
        Scene([asked]).run()


@pytest.mark.parametrize("outcome", [Outcome.LOST, Outcome.CANCELLED, None])
@pytest.mark.parametrize(
    "app_outcome", [AppOutcome.RUNNING, AppOutcome.SUCCEEDED, AppOutcome.FAILED, AppOutcome.ABSENT]
)
@pytest.mark.parametrize("application", [APPLICATION, NEAR])
def test_one_that_is_called_off_ends_what_an_earlier_one_has_left_and_nothing_else(
    application: SparkApplication, app_outcome: AppOutcome, outcome: Outcome | None
) -> None:
    """It needs nobody to stop it for that, and takes nothing for its own success."""
    scene = Scene([app_outcome], PriorApp(PRIOR, outcome), application=application, called_off=True)

    with pytest.raises(SparkError, match="told to stop"):
        scene.run()
    assert scene.cluster.killed == ([PRIOR] if app_outcome is AppOutcome.RUNNING else [])
    assert (scene.submission.submitted, scene.handles) == ([], [ENDED])


@pytest.mark.parametrize("prior", [None, prior_app(refused="yes")])
def test_one_that_is_called_off_has_nothing_to_do(prior: PriorApp | None) -> None:
    scene = Scene([AppOutcome.RUNNING], prior, called_off=True)

    with pytest.raises(SparkError, match="told to stop"):
        scene.run()
    assert (scene.cluster.asked, scene.submission.submitted, scene.handles) == ([], [], [])


def test_one_that_is_called_off_does_not_say_that_it_ended_while_nobody_can_tell() -> None:
    scene = Scene([AppOutcome.UNKNOWN], prior_app(), called_off=True)

    with pytest.raises(SparkError, match="The cluster does not tell"):
        scene.run()
    assert scene.handles == []


def test_a_stop_that_comes_with_the_answer_that_there_is_none_submits_nothing() -> None:
    scene = Scene([AppOutcome.RUNNING])

    with pytest.raises(SparkError, match="told to stop"):
        scene.run(lambda: signal.raise_signal(signal.SIGTERM))
    assert (scene.cluster.killed, scene.submission.submitted) == ([], [])


@pytest.mark.parametrize(
    "outcomes", [[AppOutcome.RUNNING, AppOutcome.SUCCEEDED], [AppOutcome.SUCCEEDED]]
)
def test_nothing_is_submitted_in_client_mode_beside_an_earlier_attempts_application(
    outcomes: list[Answer],
) -> None:
    scene = Scene(outcomes, prior_app(), application=NEAR).run()

    assert (scene.submission.submitted, scene.handles) == ([], [PRIOR])


@pytest.mark.parametrize("prior", [None, prior_app(), prior_app(refused="yes")])
def test_client_mode_submits_when_nothing_of_an_earlier_attempt_runs(
    prior: PriorApp | None,
) -> None:
    scene = Scene([AppOutcome.FAILED], prior, application=NEAR).run()

    (handle,) = scene.submission.submitted
    assert set(handle) == {"kind", "tag"}


def test_client_mode_has_an_earlier_attempts_application_killed_that_had_to_stop() -> None:
    scene = Scene([AppOutcome.RUNNING], prior_app(Outcome.CANCELLED), application=NEAR).run()

    assert scene.cluster.killed == [PRIOR]
    assert len(scene.submission.submitted) == 1


def test_a_driver_here_gets_signals_as_ever() -> None:
    """It ends with this process; there is nothing on a cluster to see to."""
    before = signal.getsignal(signal.SIGTERM)
    found: list[object] = []
    scene = Scene(
        [AppOutcome.FAILED], application=NEAR, before_end=lambda: found.append(signal.getsignal(15))
    )

    scene.run()
    assert found == [before]


def test_client_mode_fails_as_spark_submit_does() -> None:
    with pytest.raises(SparkError, match=r"spark-submit of job\.py exited with 1"):
        Scene([AppOutcome.ABSENT], code=1, application=NEAR).run()
