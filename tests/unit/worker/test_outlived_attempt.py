"""An attempt with an application on a cluster: what its worker knows, does and tells of it."""

import selectors
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from headway.domain.spec import TaskSpec
from headway.domain.states import Outcome
from headway.runtime.forker import Child, Exit
from headway.runtime.frames import Frame, FrameReader
from headway.sdk.execution import Result
from headway.testing.clock import FakeClock
from headway_worker.answering import Answering
from headway_worker.attempt import Attempt
from headway_worker.conclusion import conclude
from headway_worker.log_file import Limits, LogFile
from headway_worker.questions import Answer

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
NEAR: Frame = {"ask": "save_handle", "handle": {"kind": "submit", "tag": "t"}}


class Scene:
    """An attempt whose nanny is this test."""

    def __init__(self, folder: Path, clock: FakeClock) -> None:
        channel, self.channel = socket.socketpair()
        reins, self.reins = socket.socketpair()
        log = LogFile(folder, Path("log"), Limits(2**20, 2**20), clock)
        child = Child(channel, reins, lambda _: None)
        self.attempt = Attempt(NOTHING, child, log, {}, folder / "scratch")
        self.attempt.cluster_grace = CLUSTER_GRACE
        self.attempt.deadline = 0.0

    def asks(self, question: Frame, answer: Frame | None = None) -> None:
        """Have the child ask, and maybe hear the answer."""
        self.attempt.note(question)
        if answer is not None:
            self.attempt.learn(question, answer)

    def order(self) -> object:
        """Return the grace of the last order to stop; None is to kill."""
        return FrameReader(limit_bytes=2**16).feed(self.reins.recv(4096))[-1]["stop"]

    def error(self) -> str:
        """End as a child that was killed; return what is told of it."""
        self.channel.close()
        ending = self.attempt.ending(Exit(signal=9))
        return conclude(ending, TASK).error or ""


@pytest.fixture
def scene(tmp_path: Path, clock: FakeClock) -> Iterator[Scene]:
    scene = Scene(tmp_path, clock)
    yield scene
    scene.attempt.close()
    scene.reins.close()


def prepare(scene: Scene, what: str) -> None:
    """Bring an attempt to that point of its life."""
    match what:
        case "it has submitted one":
            scene.asks(REMOTE)
        case "it asks what the earlier one has left":
            scene.asks(ASKS)
        case "it follows the earlier one's":
            scene.asks(ASKS, LEFT)
        case "the earlier one has left none":
            scene.asks(ASKS, {"found": False})
        case "it submits in client mode after an earlier one":
            scene.asks(ASKS, LEFT)
            scene.asks(NEAR)
        case "nobody can tell":
            scene.asks(ASKS, {"error": "the database is away"})


HAS_ONE = (
    "it has submitted one",
    "it asks what the earlier one has left",
    "it follows the earlier one's",
)
HAS_NONE = (
    "it has nothing",
    "the earlier one has left none",
    "it submits in client mode after an earlier one",
    "nobody can tell",
)


@pytest.mark.parametrize(
    ("what", "grace"),
    [*((what, CLUSTER_GRACE) for what in HAS_ONE), *((what, KILL_GRACE) for what in HAS_NONE)],
)
def test_one_that_must_stop_gets_the_time_to_end_its_application(
    scene: Scene, what: str, grace: float
) -> None:
    prepare(scene, what)

    scene.attempt.cancel(KILL_GRACE)
    assert scene.order() == grace
    scene.attempt.enforce_timeout(1.0, KILL_GRACE)
    assert scene.order() == grace


@pytest.mark.parametrize(
    ("what", "grace"),
    [*((what, None) for what in HAS_ONE), *((what, KILL_GRACE) for what in HAS_NONE)],
)
def test_one_that_is_handed_back_leaves_its_application_alone(
    scene: Scene, what: str, grace: float | None
) -> None:
    prepare(scene, what)
    scene.attempt.hand_back(KILL_GRACE)

    assert scene.order() == grace


def test_an_attempt_learns_what_its_child_is_told(scene: Scene) -> None:
    class Questions:
        stop = Event()

        def answer(self, _work: object, _question: Frame) -> Answer:
            return Answer({"found": False})

    rang = Event()
    questions: Any = Questions()
    answering = Answering(questions, 1, rang.set)
    scene.attempt.note(ASKS)
    answering.ask(scene.attempt, ASKS)
    assert rang.wait(60)
    with selectors.DefaultSelector() as selector:
        answering.send(selector)
    answering.close()

    assert scene.attempt.outlived_by is None
    assert FrameReader(limit_bytes=2**16).feed(scene.channel.recv(4096)) == [{"found": False}]


def test_an_application_that_was_not_seen_to_end_is_told_of(scene: Scene) -> None:
    prepare(scene, "it follows the earlier one's")
    scene.attempt.cancel(KILL_GRACE)

    assert "application application_1 has ended: it may still run" in scene.error()


def test_one_that_is_overdue_tells_of_it_too(scene: Scene) -> None:
    prepare(scene, "it has submitted one")
    scene.attempt.enforce_timeout(1.0, KILL_GRACE)

    told = scene.error()
    assert "longer than its execution_timeout of 1.5 s" in told
    assert "application t has ended: it may still run" in told


def test_one_without_an_application_tells_of_none(scene: Scene) -> None:
    scene.attempt.cancel(KILL_GRACE)

    assert "may still run" not in scene.error()


def test_one_that_has_seen_it_end_tells_of_none(scene: Scene) -> None:
    prepare(scene, "it has submitted one")
    scene.attempt.cancel(KILL_GRACE)
    scene.attempt.result = Result(outcome=Outcome.FAILED, error="What it had has ended.")

    assert "may still run" not in scene.error()
