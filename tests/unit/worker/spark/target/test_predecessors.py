"""An attempt waits while one before it may still run on a Connect server, and tells so once."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.connect.session")

from headway.db.execution.spark_work import PriorAttempt
from headway.runtime.forker import Exit
from headway.runtime.processes.frames import Frame
from headway.testing.time.clock import FakeClock
from headway_worker.attempts.questions import Questions
from headway_worker.spark.service import prior_apps as module
from headway_worker.spark.session.attempt import when_settled
from headway_worker.spark.target.connection import SparkConnection, SparkKind
from headway_worker.spark.target.target import SparkTarget

ASKED: Frame = {"ask": "spark", "conn_id": "far", "session": True}
THERE = {"kind": "connect", "url": "sc://far:15002", "user": "headway", "session_id": "s-1"}
FAR = PriorAttempt(
    1,
    "lost",
    {**THERE, "conn_id": "far"},
    is_called_off=False,
    is_long_ago=False,
    worker_is_dead=True,
)
NEAR = replace(FAR, handle={"kind": "connect", "process": "boot/7/99", "session_id": "s-1"})


@dataclass
class Child:
    """A process that asks a server to end a session."""

    exit: Exit | None

    def wait(self, _seconds: float) -> Exit | None:
        return self.exit

    def close(self) -> None:
        pass


@dataclass
class Spark:
    """A server elsewhere that answers or not."""

    answers: bool = False
    host: str = "far"
    released: list[str] = field(default_factory=list)

    def connection(self, _claimed: object, conn_id: str) -> SparkConnection:
        return SparkConnection(kind=SparkKind.CONNECT, conn_id=conn_id, host=self.host)

    def await_forker(self) -> None:
        pass

    def release_at(self, _endpoint: object, session_id: str) -> Child:
        self.released.append(session_id)
        return Child(Exit(code=0) if self.answers else None)

    def locate(self, _claimed: object, conn_id: str, *, for_session: bool) -> SparkTarget:
        return SparkTarget(connection=self.connection(None, conn_id), master="local[2]")


@dataclass
class FakeWorkerDatabase:
    """Finds what an earlier attempt has left, which is long ago when the test says so."""

    found: list[PriorAttempt]
    settings: Any = field(default_factory=lambda: SimpleNamespace(spark_detached_timeout=300.0))

    def prior_attempts(self, _claimed: object) -> list[PriorAttempt]:
        return self.found


@dataclass
class Scene:
    database: FakeWorkerDatabase = field(default_factory=lambda: FakeWorkerDatabase([FAR]))
    spark: Spark = field(default_factory=Spark)
    clock: FakeClock = field(default_factory=FakeClock)
    said: list[str] = field(default_factory=list)
    asked: int = 0

    def answer(self) -> Frame:
        """Return what the worker answers an attempt that asks for a session."""
        database: Any = self.database
        spark: Any = self.spark
        nobody: Any = None
        key = SimpleNamespace(task_instance_id=1, attempt=2)
        work: Any = SimpleNamespace(claimed=SimpleNamespace(key=key))
        return Questions(database, nobody, spark, self.clock, Event()).answer(work, ASKED).frame

    def wait(self, meanwhile: Callable[[int], None]) -> Frame:
        """Ask as an attempt does; `meanwhile` is called before each question, with its number."""

        def ask() -> Frame:
            self.asked += 1
            meanwhile(self.asked)
            return self.answer()

        return when_settled(ask, self.said.append, self.clock)


def test_an_attempt_is_told_to_wait_while_a_server_does_not_answer() -> None:
    answer = Scene().answer()

    assert list(answer) == ["wait"]
    assert "Attempt 1 of this task may still run in Spark (sc://far:15002" in answer["wait"]
    assert "the server does not answer" in answer["wait"]


def test_it_goes_on_once_the_server_has_ended_the_session() -> None:
    scene = Scene()

    def meanwhile(times: int) -> None:
        scene.spark.answers = times == 4

    assert scene.wait(meanwhile)["master"] == "local[2]"
    assert scene.spark.released == ["s-1"] * 4
    assert len(scene.said) == 1
    assert scene.clock.monotonic() == 1 + 2 + 4


def test_it_goes_on_once_that_is_so_long_ago_that_the_session_has_ended_by_itself() -> None:
    scene = Scene()

    def meanwhile(times: int) -> None:
        scene.database.found = [replace(FAR, is_long_ago=times == 30)]

    assert scene.wait(meanwhile)["master"] == "local[2]"
    assert (scene.asked, len(scene.said)) == (30, 1)


def test_it_waits_as_well_when_the_connection_is_of_another_server_by_now() -> None:
    scene = Scene(spark=Spark(answers=True, host="other"))

    assert "is of another server by now" in scene.answer()["wait"]
    assert scene.spark.released == []


def test_it_waits_for_a_dead_workers_server_to_die(monkeypatch: pytest.MonkeyPatch) -> None:
    lives = True
    monkeypatch.setattr(module, "kill", lambda _process: None)
    monkeypatch.setattr(module, "may_live", lambda _process: lives)
    scene = Scene(FakeWorkerDatabase([NEAR]))

    assert "process boot/7/99, does not die" in scene.answer()["wait"]
    lives = False
    assert scene.answer()["master"] == "local[2]"


def test_an_attempt_that_need_not_wait_says_nothing() -> None:
    scene = Scene(spark=Spark(answers=True))

    assert scene.wait(lambda _times: None)["master"] == "local[2]"
    assert (scene.asked, scene.said, scene.clock.monotonic()) == (1, [], 0.0)
