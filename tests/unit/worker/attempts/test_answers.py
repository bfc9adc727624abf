"""Answers on their way to a child: they hold up nobody, however slowly it reads."""

import selectors
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, current_thread
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from headway.db.core.attempt_keys import AttemptKey
from headway.runtime.forker import Child
from headway.runtime.masking import Masker
from headway.runtime.processes.frames import FrameReader, encode_frame
from headway.testing.time.clock import FakeClock
from headway_worker.attempts.answers import Answering
from headway_worker.attempts.questions import Questions, TaskAnswer
from headway_worker.database.secret_resolver import SecretResolver
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.logs.file import LogFile, LogLimits
from headway_worker.spark.target.connection import SparkConnection
from headway_worker.spark.target.target import SparkTarget
from headway_worker.supervision.execution import Execution
from headway_worker.supervision.scratch import ScratchFolders

LARGE = {"found": True, "value": "x" * 2**20}


class AnsweredChild:
    """An attempt whose child is this test: what it reads, and what its nanny is ordered."""

    def __init__(self, folder: Path, clock: FakeClock) -> None:
        channel, self.childs = socket.socketpair()
        reins, self.nannys = socket.socketpair()
        self.nannys.setblocking(False)
        self.childs.setblocking(False)
        channel.setblocking(False)
        self.child = Child(channel, reins, lambda _: None)
        self.log = LogFile(folder, Path("log"), LogLimits(2**20, 2**20), clock)
        work: Any = None
        self.execution = Execution(
            work, self.child, self.log, {}, ScratchFolders(folder).take("scratch")
        )
        self.selector = selectors.DefaultSelector()
        self.selector.register(channel, selectors.EVENT_READ, self.execution)
        self.reader = FrameReader(limit_bytes=2**26)

    def answer(self, frame: dict[str, object]) -> None:
        self.execution.answer(frame, self.selector)

    def heeds(self) -> int:
        """What the supervisor waits for on the channel."""
        return self.selector.get_key(self.child.channel).events

    def read(self) -> list[dict[str, object]]:
        """Read all that the child gets, for as long as there is anything."""
        frames: list[dict[str, object]] = []
        while True:
            try:
                frames += self.reader.feed(self.childs.recv(2**20))
            except BlockingIOError:
                if self.heeds() == selectors.EVENT_READ:
                    return frames
                self.execution.send(self.selector)

    def killed(self) -> bool:
        try:
            return self.nannys.recv(4096) == encode_frame({"stop": None})
        except BlockingIOError:
            return False

    def close(self) -> None:
        self.selector.close()
        self.child.close()
        self.log.close()
        self.childs.close()
        self.nannys.close()


@pytest.fixture
def answered(tmp_path: Path, clock: FakeClock) -> Iterator[AnsweredChild]:
    answered = AnsweredChild(tmp_path, clock)
    yield answered
    answered.close()


def test_a_small_answer_is_sent_at_once(answered: AnsweredChild) -> None:
    answered.answer({"saved": True})

    assert answered.heeds() == selectors.EVENT_READ
    assert answered.read() == [{"saved": True}]


def test_a_large_answer_waits_for_its_reader_and_holds_up_nobody(answered: AnsweredChild) -> None:
    answered.answer(LARGE)
    answered.answer({"saved": True})
    assert answered.heeds() == selectors.EVENT_WRITE  # and so no further question is heard

    assert answered.read() == [LARGE, {"saved": True}]
    assert answered.heeds() == selectors.EVENT_READ
    assert not answered.killed()


def test_a_child_that_never_reads_is_killed_before_it_takes_all_memory(
    answered: AnsweredChild,
) -> None:
    answers = 0
    while not answered.killed():
        answered.answer(LARGE)
        answers += 1
        assert answers < 50

    assert answers > 16
    assert "did not read the worker" in (answered.log.folder / answered.log.relative).read_text()


def test_a_child_that_has_gone_needs_no_answer(answered: AnsweredChild) -> None:
    answered.childs.close()
    answered.answer(LARGE)

    assert answered.killed()
    assert answered.heeds() == selectors.EVENT_READ


def test_a_child_whose_channel_is_no_longer_watched_may_be_answered(
    answered: AnsweredChild,
) -> None:
    answered.selector.unregister(answered.child.channel)
    answered.answer({"saved": True})

    assert answered.reader.feed(answered.childs.recv(4096)) == [{"saved": True}]


def test_one_is_told_to_stop_once(answered: AnsweredChild) -> None:
    answered.execution.cancel(5)
    answered.execution.cancel(5)

    assert answered.nannys.recv(4096) == encode_frame({"stop": 5})
    assert (answered.log.folder / answered.log.relative).read_text().count("told to stop") == 1


def test_a_child_that_says_what_nobody_has_thought_of_ends_alone(answered: AnsweredChild) -> None:
    class Surprised(FrameReader):
        def feed(self, data: bytes) -> list[dict[str, object]]:
            raise OverflowError("cannot convert float infinity to integer")

    answered.execution.reader = Surprised()
    answered.childs.sendall(b"x")

    assert not answered.execution.receive([])
    assert answered.killed()
    assert "spoiled its channel" in (answered.log.folder / answered.log.relative).read_text()


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"text": "fine"}, {"text": "fine"}),
        ({"text": "\udcff"}, {"error": "The worker cannot send the answer: it is no plain data."}),
        ({"error": "no secret-1"}, {"error": "no secret-1"}),
    ],
)
def test_an_answer_that_cannot_be_sent_is_an_error_for_its_task_alone(
    answered: AnsweredChild,
    found: dict[str, object],
    told: dict[str, object],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As the text of an environment variable that is no Unicode."""
    questions: Any = Answers(TaskAnswer(found, frozenset({"secret-1"})))
    answered.execution.work = SimpleNamespace(claimed=SimpleNamespace(key=None))
    found_one = Event()
    answering = Answering(questions, 1, found_one.set)
    try:
        answering.ask(answered.execution, {})
        assert found_one.wait(60)
        answering.send(answered.selector)

        assert answered.read() == [told]
        assert questions.spark.masked == ["***"]
        assert "secret-1" not in caplog.text
        assert ("action=no_answer" in caplog.text) is ("error" in told)
    finally:
        answering.close()


class Answers:
    """What has the one answer to everything."""

    def __init__(self, the_one: TaskAnswer) -> None:
        self.the_one = the_one
        self.spark = Spark()

    def answer(self, _work: object, _question: object) -> TaskAnswer:
        return self.the_one


@dataclass
class Spark:
    """A Spark of which the database may have to tell; attempts board it, and leave."""

    away: int = 0
    may_board: Event = field(default_factory=Event)
    present: list[AttemptKey] = field(default_factory=list)
    masked: list[str] = field(default_factory=list)
    masked_in: str = ""

    def mask(self, _key: AttemptKey, masker: Masker) -> None:
        self.masked_in = current_thread().name
        self.masked.append(masker.mask("secret-1"))

    def locate(self, claimed: Any, _conn_id: str, *, for_session: bool) -> SparkTarget:
        assert self.may_board.wait(60)
        if self.away:
            self.away -= 1
            raise OperationalError("SELECT 1", {}, Exception("connection refused"))
        if for_session:
            self.present.append(claimed.key)
        return SparkTarget(connection=SparkConnection(), master="local[2]")

    def leave(self, key: AttemptKey) -> None:
        if key in self.present:
            self.present.remove(key)


@pytest.fixture
def spark() -> Spark:
    return Spark()


@pytest.fixture
def rung() -> Event:
    return Event()


@pytest.fixture
def answering(
    database: WorkerDatabase, resolver: SecretResolver, spark: Any, clock: FakeClock, rung: Event
) -> Iterator[Answering]:
    questions = Questions(database, resolver, spark, clock, Event())
    made = Answering(questions, slots=1, ring=rung.set)
    yield made
    made.close()


ASKED = {"ask": "spark", "conn_id": "spark_default", "session": True}


def test_where_spark_is_is_asked_again_while_the_database_is_away(
    answering: Answering, spark: Spark, answered: AnsweredChild, keys: list[AttemptKey], rung: Event
) -> None:
    spark.away = 3
    spark.may_board.set()
    answered.execution.work = SimpleNamespace(claimed=SimpleNamespace(key=keys[0]))

    answering.ask(answered.execution, ASKED)
    assert rung.wait(60)
    answering.send(answered.selector)

    (answer,) = answered.read()
    assert answer["master"] == "local[2]"
    assert spark.present == [keys[0]]


def test_an_attempt_that_has_ended_before_it_boards_takes_no_place(
    answering: Answering, spark: Spark, answered: AnsweredChild, keys: list[AttemptKey], rung: Event
) -> None:
    answered.execution.work = SimpleNamespace(claimed=SimpleNamespace(key=keys[0]))
    answering.ask(answered.execution, ASKED)

    answered.execution.closed = True
    spark.leave(keys[0])
    spark.may_board.set()
    assert rung.wait(60)
    assert spark.present == [keys[0]]
    answering.send(answered.selector)

    assert spark.present == []


@pytest.mark.regression
def test_secrets_are_indexed_in_the_thread_that_answers(
    answering: Answering,
    spark: Spark,
    answered: AnsweredChild,
    keys: list[AttemptKey],
    rung: Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    indexed_in: list[str] = []
    found = TaskAnswer({"text": "secret-1"}, frozenset({"secret-1"}))
    monkeypatch.setattr(Questions, "answer", lambda *_: found)
    prepare = Masker.prepare

    def seen(masker: Masker, *secrets: str) -> None:
        indexed_in.append(current_thread().name)
        prepare(masker, *secrets)

    monkeypatch.setattr(Masker, "prepare", seen)
    answered.execution.work = SimpleNamespace(claimed=SimpleNamespace(key=keys[0]))

    answering.ask(answered.execution, {"ask": "variable", "name": "v"})
    assert rung.wait(60)
    assert answered.execution.masker.mask("secret-1") == "***", "before it is sent"
    answering.send(answered.selector)

    assert answered.read() == [{"text": "secret-1"}]
    assert spark.masked == ["***"]
    assert [name[:6] for name in (*indexed_in, spark.masked_in)] == ["answer", "answer"]
