"""The states of an attempt: what each waits for, and what ends it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock
from uuid import UUID

import pytest

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution.attempts import Report
from headway.domain.dag.spec import DagSpec, TaskSpec, TimetableSpec
from headway.domain.errors import EmbeddedError
from headway.domain.states import Outcome
from headway.runtime.forker import Exit, ForkerError
from headway.runtime.settings.worker import WorkerSettings
from headway.sdk.harness.execution import Result
from headway.testing.data import claims
from headway.testing.time.clock import FakeClock
from headway_worker.attempts.attempt import Attempt, AttemptKind
from headway_worker.database.worker_database import AttemptWork
from headway_worker.protocol.supply import Code
from headway_worker.supervision.held import WorkState
from headway_worker.supervision.lease_keeper import LeaseKeeper, Renewal
from headway_worker.supervision.outcome import ProcessEnd

KEY = AttemptKey(7, 1, UUID(int=1))
DONE = Result(outcome=Outcome.SUCCESS)
FAILED = Result(outcome=Outcome.FAILED, error="no luck")


def work(*, needs_spark: bool, handle: dict[str, str] | None, called_off: bool) -> AttemptWork:
    task = TaskSpec(task_id="t", operator="python", needs_spark=needs_spark)
    claimed = claims.claimed(key=KEY, handle=handle, is_called_off=called_off)
    timetable = TimetableSpec(name="none")
    dag = DagSpec(
        dag_id="d", relative_path="d.py", timetable=timetable, timezone="UTC", tasks=(task,)
    )
    return AttemptWork(claimed, dag, task, Code(Path(), {}))


@dataclass
class Scene:
    """An attempt, and all that it works with."""

    clock: FakeClock
    leases: LeaseKeeper[AttemptKey]
    renewal: Any
    kind: AttemptKind
    execution: Any
    attempt: Attempt = field(init=False)

    def begin(
        self,
        *,
        needs_spark: bool = False,
        handle: dict[str, str] | None = None,
        called_off: bool = False,
    ) -> None:
        """Have it claimed."""
        claimed = work(needs_spark=needs_spark, handle=handle, called_off=called_off)
        self.attempt = self.kind.hold(claimed)
        self.leases.grant(KEY, self.clock.monotonic())

    def stop(self) -> None:
        """Have the next renewal tell that it is to stop."""
        self.leases.step([KEY])
        self.renewal.finish(Renewal({KEY: True}))
        self.leases.step([KEY])

    def exits(self, said: Result | None, **seen: Any) -> None:
        """Have its child exit."""
        self.execution.child.exit, self.execution.result = Exit(code=0), said
        self.execution.ending.side_effect = lambda exited: ProcessEnd(
            exit=exited, said=said, cancelled=self.execution.cancel.called, **seen
        )

    @property
    def report(self) -> Report:
        """What it has reported."""
        assert self.attempt.state is WorkState.REPORTING
        assert isinstance(self.attempt.report, Report)
        return self.attempt.report


@pytest.fixture
def scene(clock: FakeClock, worker_settings: WorkerSettings, threads: Any) -> Scene:
    from headway_worker.supervision.background_call import BackgroundCall

    chore: BackgroundCall[Any] = BackgroundCall("renew", threads, lambda: None, clock)
    leases: LeaseKeeper[AttemptKey] = LeaseKeeper(MagicMock(), worker_settings, clock, chore)
    masker = MagicMock(mask=lambda text: text)
    execution = MagicMock(
        spark_session=None, outlived_by=None, fenced=False, is_stopped=False, masker=masker
    )
    execution.child.exit = None
    launcher = MagicMock(launch=MagicMock(return_value=execution))
    host = MagicMock(settings=worker_settings, clock=clock)
    cleanup = MagicMock(under_way=lambda _key: False, problem=lambda _key: None)
    spark = MagicMock(forker_ready=MagicMock(return_value=False))
    kind = AttemptKind(MagicMock(), leases, launcher, spark, cleanup, MagicMock(), host)
    return Scene(clock, leases, threads, kind, execution)


def lose(scene: Scene) -> None:
    """Let the lease run out."""
    scene.clock.advance(3600)


def test_it_runs_and_is_reported_in_the_step_in_which_its_child_has_exited(scene: Scene) -> None:
    scene.begin()
    scene.attempt.step()
    assert scene.attempt.state is WorkState.RUNNING
    scene.execution.watch.assert_called_once_with(scene.kind.host.selector)
    scene.execution.log.tick.assert_called_once_with()

    scene.exits(DONE)
    scene.attempt.step()

    assert scene.report.outcome is Outcome.SUCCESS
    scene.execution.unwatch.assert_called_once_with(scene.kind.host.selector)
    scene.execution.close.assert_called_once_with(DONE)


def test_one_whose_lease_is_over_when_it_is_claimed_never_begins(scene: Scene) -> None:
    scene.begin()
    lose(scene)
    scene.attempt.step()

    assert scene.attempt.state is WorkState.DROPPED
    assert not scene.kind.launcher.launch.called  # type: ignore[attr-defined]


def test_one_that_needs_spark_waits_for_its_fork_server(scene: Scene) -> None:
    scene.begin(needs_spark=True)
    scene.attempt.step()
    assert (scene.attempt.state, scene.attempt.holds_slot) == (WorkState.WAITING, True)
    scene.kind.spark.foresee.assert_called_once()  # type: ignore[attr-defined]

    scene.kind.spark.forker_ready.return_value = True  # type: ignore[attr-defined]
    scene.attempt.step()

    assert scene.attempt.state is WorkState.RUNNING


@pytest.mark.parametrize("handle", [None, {"kind": "cluster", "name": "app"}])
def test_one_that_waits_is_cancelled_unless_it_follows_an_application(
    scene: Scene, handle: dict[str, str] | None
) -> None:
    """An attempt that follows an application has to end that first."""
    scene.begin(needs_spark=True, handle=handle)
    scene.attempt.step()
    scene.stop()
    scene.attempt.step()

    if handle is None:
        assert scene.report.outcome is Outcome.CANCELLED
    else:
        assert scene.attempt.state is WorkState.WAITING


@pytest.mark.parametrize("hand_back", [False, True])
def test_one_that_waits_is_dropped_when_its_lease_is_over(scene: Scene, hand_back: bool) -> None:
    scene.begin(needs_spark=True)
    scene.attempt.step()
    lose(scene)
    if hand_back:
        scene.attempt.hand_back()
    else:
        scene.attempt.step()

    assert scene.attempt.state is WorkState.DROPPED


@pytest.mark.parametrize(
    ("error", "handle", "outcome"),
    [
        (EmbeddedError("no Java"), None, Outcome.FAILED),
        (EmbeddedError("no Java"), {"kind": "cluster"}, Outcome.LOST),
        (ForkerError("nobody listens"), None, Outcome.LOST),
        (OSError("no space left"), None, Outcome.LOST),
    ],
)
def test_one_that_cannot_be_started(
    scene: Scene, error: Exception, handle: dict[str, str] | None, outcome: Outcome
) -> None:
    """What no worker could start has failed; what another worker may start is lost."""
    scene.kind.launcher.launch.side_effect = error  # type: ignore[attr-defined]
    scene.begin(handle=handle)
    scene.attempt.step()

    assert scene.report.outcome is outcome


def running(scene: Scene, *, called_off: bool = False) -> Any:
    scene.begin(called_off=called_off)
    scene.attempt.step()
    scene.execution.reset_mock()
    return scene.execution


def test_the_lease_comes_before_every_other_cause(scene: Scene) -> None:
    execution = running(scene)
    scene.stop()
    lose(scene)
    scene.attempt.step()

    assert execution.fence.called
    assert not (execution.cancel.called)
    assert not (execution.enforce_timeout.called)


def test_a_stop_order_comes_before_the_deadline(scene: Scene) -> None:
    execution = running(scene)
    scene.stop()
    scene.attempt.step()

    execution.cancel.assert_called_once_with(5)
    assert not (execution.fence.called)
    assert not (execution.enforce_timeout.called)


def test_one_that_is_only_there_to_end_an_application_is_not_told_to_stop(scene: Scene) -> None:
    execution = running(scene, called_off=True)
    scene.stop()
    scene.attempt.step()

    assert not execution.cancel.called
    assert execution.enforce_timeout.called
    assert execution.enforce_hearing.called


@pytest.mark.parametrize("stopped", [True, False])
def test_its_session_is_ended_as_soon_as_it_is_stopped(scene: Scene, stopped: bool) -> None:
    execution = running(scene)
    execution.is_stopped, execution.spark_session = stopped, "session"
    scene.attempt.step()

    begun: Any = scene.kind.cleanup.begin
    assert begun.called is stopped


@pytest.mark.parametrize(
    ("said", "patience"), [(None, (None,)), (FAILED, (5.0,)), (DONE, ())], ids=["none", "no", "yes"]
)
def test_what_it_left_in_spark_is_ended_unless_it_has_said_that_it_is_done(
    scene: Scene, said: Result | None, patience: tuple[object, ...]
) -> None:
    execution = running(scene)
    execution.spark_session = "session"
    scene.exits(said)
    scene.attempt.step()

    begun: Any = scene.kind.cleanup.begin
    assert [call.args[2] for call in begun.call_args_list] == list(patience)


def test_it_is_not_reported_while_something_of_it_may_run_in_spark(scene: Scene) -> None:
    execution = running(scene)
    cleanup: Any = scene.kind.cleanup
    cleanup.under_way = lambda _key: True
    scene.exits(DONE)
    scene.attempt.step()
    scene.attempt.step()
    assert (scene.attempt.state, scene.attempt.holds_slot) == (WorkState.ENDING, True)
    assert not execution.close.called

    cleanup.under_way, cleanup.problem = (lambda _key: False), lambda _key: "Nobody knows."
    scene.attempt.step()

    assert scene.report.error == "success Nobody knows."


@pytest.mark.parametrize("why", ["fenced", "over"])
def test_one_that_another_worker_may_have_is_not_reported(scene: Scene, why: str) -> None:
    execution = running(scene)
    scene.exits(DONE)
    execution.fenced = why == "fenced"
    if why == "over":
        lose(scene)
    scene.attempt.step()

    assert scene.attempt.state is WorkState.DROPPED
    execution.close.assert_called_once_with()


@pytest.mark.parametrize("began", [True, False])
def test_one_that_is_handed_back(scene: Scene, began: bool) -> None:
    if began:
        execution = running(scene)
        scene.attempt.hand_back()
        execution.hand_back.assert_called_once_with(5)
        assert scene.attempt.state is WorkState.RUNNING
        return
    scene.begin(needs_spark=True)
    scene.attempt.step()
    scene.attempt.hand_back()

    assert scene.report.error == "The worker was stopped, and handed it back."


def test_it_counts_what_has_failed_for_good(scene: Scene) -> None:
    running(scene)
    scene.exits(FAILED)
    scene.attempt.step()

    assert (scene.report.outcome, scene.kind.failed) == (Outcome.FAILED, 1)
