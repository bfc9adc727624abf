"""An attempt with an application on a cluster: what its worker knows, does and tells of it."""

import selectors
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from headway.domain.dag.spec import TaskSpec
from headway.domain.states import Outcome
from headway.runtime.forker import Child, Exit
from headway.runtime.processes.frames import Frame, FrameReader
from headway.sdk.harness.execution import Result
from headway.testing.time.clock import FakeClock
from headway_worker.attempts.answers import Answering
from headway_worker.attempts.questions import TaskAnswer
from headway_worker.logs.file import LogFile, LogLimits
from headway_worker.supervision.execution import Execution
from headway_worker.supervision.outcome import conclude
from headway_worker.supervision.scratch import ScratchFolders

NOTHING: Any = None
KILL_GRACE, CLUSTER_GRACE = 5.0, 600.0
TASK = TaskSpec(task_id="t", operator="spark_submit", execution_timeout=1.5)
ASKS: Frame = {"ask": "prior_handle"}
LEFT: Frame = {
    "found": True,
    "outcome": "lost",
    "handle": {"kind": "submit", "mode": "cluster", "tag": "t", "application_id": "application_1"},
}
REMOTE: Frame = {"ask": "save_handle", "handle": {"kind": "submit", "mode": "cluster", "tag": "t"}}
ENDED: Frame = {**REMOTE, "handle": {**REMOTE["handle"], "ended": "yes"}}
NEAR: Frame = {"ask": "save_handle", "handle": {"kind": "submit", "tag": "t"}}


class Scene:
    """An attempt whose nanny is this test."""

    def __init__(self, folder: Path, clock: FakeClock) -> None:
        channel, self.channel = socket.socketpair()
        reins, self.reins = socket.socketpair()
        log = LogFile(folder, Path("log"), LogLimits(2**20, 2**20), clock)
        child = Child(channel, reins, lambda _: None)
        self.execution = Execution(NOTHING, child, log, {}, ScratchFolders(folder).take("scratch"))
        self.execution.cluster_grace = CLUSTER_GRACE
        self.execution.deadline = 0.0

    def asks(self, question: Frame, answer: Frame | None = None) -> None:
        """Have the child ask, and maybe hear the answer."""
        self.execution.note(question)
        if answer is not None:
            self.execution.learn(question, answer)

    def order(self) -> object:
        """Return the grace of the last order to stop; None is to kill."""
        return FrameReader(limit_bytes=2**16).feed(self.reins.recv(4096))[-1]["stop"]

    def result(self, *, called_off: bool = False) -> Result:
        """End as a child that was killed; return what comes of it."""
        self.channel.close()
        return conclude(self.execution.ending(Exit(signal=9)), TASK, called_off=called_off)


@pytest.fixture
def scene(tmp_path: Path, clock: FakeClock) -> Iterator[Scene]:
    scene = Scene(tmp_path, clock)
    yield scene
    scene.execution.close()
    scene.reins.close()


POINTS: dict[str, list[tuple[Frame, Frame | None]]] = {
    "it has nothing": [],
    "it has submitted one": [(REMOTE, None)],
    "it has seen to its end": [(REMOTE, None), (ENDED, None)],
    "it asks what the earlier one has left": [(ASKS, None)],
    "it follows the earlier one's": [(ASKS, LEFT)],
    "the earlier one has left none": [(ASKS, {"found": False})],
    "it submits in client mode after an earlier one": [(ASKS, LEFT), (NEAR, None)],
    "its user was asked to look": [
        (ASKS, {**LEFT, "handle": {**LEFT["handle"], "refused": "yes"}}),
    ],
    "nobody can tell": [(ASKS, {"error": "the database is away"})],
}


def prepare(scene: Scene, what: str) -> None:
    """Bring an attempt to that point of its life."""
    for question, answer in POINTS[what]:
        scene.asks(question, answer)


HAS_ONE = (
    "it has submitted one",
    "nobody can tell",
    "it asks what the earlier one has left",
    "it follows the earlier one's",
)
HAS_NONE = (
    "it has nothing",
    "the earlier one has left none",
    "it submits in client mode after an earlier one",
    "it has seen to its end",
    "its user was asked to look",
)


@pytest.mark.parametrize(
    ("what", "grace"),
    [*((what, CLUSTER_GRACE) for what in HAS_ONE), *((what, KILL_GRACE) for what in HAS_NONE)],
)
def test_one_that_must_stop_gets_the_time_to_end_its_application(
    scene: Scene, what: str, grace: float
) -> None:
    prepare(scene, what)

    scene.execution.cancel(KILL_GRACE)
    assert scene.order() == grace
    scene.execution.enforce_timeout(1.0, KILL_GRACE)
    assert scene.order() == grace


@pytest.mark.parametrize(
    ("what", "grace"),
    [*((what, None) for what in HAS_ONE), *((what, KILL_GRACE) for what in HAS_NONE)],
)
def test_one_that_is_handed_back_leaves_its_application_alone(
    scene: Scene, what: str, grace: float | None
) -> None:
    prepare(scene, what)
    scene.execution.hand_back(KILL_GRACE)

    assert scene.order() == grace


def test_an_attempt_learns_what_its_child_is_told(scene: Scene) -> None:
    class Questions:
        stop = Event()

        def answer(self, _work: object, _question: Frame) -> TaskAnswer:
            return TaskAnswer({"found": False})

    rang = Event()
    questions: Any = Questions()
    answering = Answering(questions, 1, rang.set)
    scene.execution.note(ASKS)
    answering.ask(scene.execution, ASKS)
    assert rang.wait(60)
    with selectors.DefaultSelector() as selector:
        answering.send(selector)
    answering.close()

    assert scene.execution.outlived_by is None
    assert FrameReader(limit_bytes=2**16).feed(scene.channel.recv(4096)) == [{"found": False}]


@pytest.mark.parametrize("said", [None, Result(outcome=Outcome.FAILED, error="It broke.")])
def test_one_that_must_stop_and_has_not_seen_it_end_is_lost(
    scene: Scene, said: Result | None
) -> None:
    """And so it is followed by another one."""
    prepare(scene, "it follows the earlier one's")
    scene.execution.cancel(KILL_GRACE)
    scene.execution.result = said

    result = scene.result()
    assert result.outcome is Outcome.LOST
    assert result.error == "It was not seen in time that application application_1 has ended."


@pytest.mark.parametrize("what", ["it has nothing", "it has seen to its end"])
def test_one_that_must_stop_and_has_nothing_left_was_cancelled(scene: Scene, what: str) -> None:
    prepare(scene, what)
    scene.execution.cancel(KILL_GRACE)
    scene.execution.result = Result(outcome=Outcome.FAILED, error="It was told to stop.")

    result = scene.result()
    assert result.outcome is Outcome.CANCELLED
    assert "may still run" not in (result.error or "")


SAID = Result(outcome=Outcome.FAILED, error="There is no such connection.")


@pytest.mark.parametrize("said", [None, SAID, Result(outcome=Outcome.SUCCESS)])
@pytest.mark.parametrize("what", HAS_ONE)
def test_one_that_was_called_off_is_lost_until_nothing_is_left(
    scene: Scene, what: str, said: Result | None
) -> None:
    prepare(scene, what)
    scene.execution.result = said

    result = scene.result(called_off=True)
    assert result.outcome is Outcome.LOST
    assert (said is SAID) == (result.error == SAID.error)


@pytest.mark.parametrize("what", ["the earlier one has left none", "it has seen to its end"])
def test_one_that_was_called_off_is_done_when_nothing_is_left(scene: Scene, what: str) -> None:
    prepare(scene, what)
    scene.execution.enforce_timeout(1.0, KILL_GRACE)
    scene.execution.result = SAID

    result = scene.result(called_off=True)
    assert result.outcome is Outcome.CANCELLED
    assert "had left on a cluster, which has ended" in (result.error or "")


def test_one_whose_process_crashed_tells_what_may_run(scene: Scene) -> None:
    prepare(scene, "it has submitted one")

    result = scene.result()
    assert result.outcome is Outcome.FAILED
    assert "application t has ended: it may still run" in (result.error or "")


def test_one_that_is_overdue_tells_of_it_too(scene: Scene) -> None:
    prepare(scene, "it has submitted one")
    scene.execution.enforce_timeout(1.0, KILL_GRACE)

    told = scene.result().error or ""
    assert "longer than its execution_timeout of 1.5 s" in told
    assert "application t has ended: it may still run" in told
